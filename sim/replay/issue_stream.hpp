// A timed program unrolled: for each stage the one list of operations that its ranks walk. Loops
// may be cut to their first few repetitions; segments remember how often each piece stands for
// itself.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/program/process_grid.hpp"
#include "sim/cost/timed_program.hpp"

namespace fourfold::inline sim::inline replay {

// How many repetitions of each loop are walked, by index of run and of cycle.
struct Repetitions {
  std::vector<std::int64_t> runs;
  std::vector<std::int64_t> cycles;

  static Repetitions full(const TimedProgram& program);
  bool operator==(const Repetitions&) const = default;
};

// A piece of the stream between two marks: one repetition of a cut run, or all of an uncut one.
struct Segment {
  std::int32_t cycle = 0;
  std::int64_t cycle_repetition = 0;
  std::int32_t run = 0;
  std::int64_t run_repetition = 0;
  double weight = 1.0;      // how many such pieces of the whole program it stands for
  double run_weight = 1.0;  // the same within its repetition of the cycle
  Seconds compute;          // nominal, with interference charges
};

struct Operation {
  // choose: of the ranks that choose alike the first one decides which turn comes next.
  enum class Kind : std::uint8_t { post, wait, mark, choose };
  Seconds compute;  // done before it
  Kind kind = Kind::mark;
  ChannelNumber channel = 0;  // post, wait
  std::int32_t number = 0;    // post, wait: of the collective on its channel
  std::int32_t segment = 0;
  Seconds late;  // wait: by which the collective is done later than it seems
  StepVariation varies = {};
};

// What a channel carries, in order.
struct ChannelPost {
  std::int32_t collective = 0;  // index into TimedProgram::collectives
  std::int32_t segment = 0;
};

struct IssueStream {
  std::vector<Operation> operations;  // ends with the mark of the last segment
  std::vector<Segment> segments;
  std::vector<std::vector<ChannelPost>> posts;  // by channel
};

inline std::vector<const IssueStream*> pointers_to(const std::vector<IssueStream>& streams) {
  std::vector<const IssueStream*> pointers;
  for (const IssueStream& stream : streams) pointers.push_back(&stream);
  return pointers;
}

// Throws std::invalid_argument if the program is unsound: a post without its collective or channel,
// a duration below zero, a run, cycle or stage out of range, not one stage for each of the grid's.
void refuse_unsound(const TimedProgram& program, const ProcessGrid& grid);

// By stage. Throws as refuse_unsound, on a wait without its post, and where the members of a group
// of several stages post different things on its channel. Channels along an axis of extent 1 are
// left out: their collectives have nothing to do.
std::vector<IssueStream> unroll(const TimedProgram& program, const ProcessGrid& grid,
                                const Repetitions& repetitions);

}  // namespace fourfold::inline sim::inline replay
