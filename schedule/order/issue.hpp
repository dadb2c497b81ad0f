// A schedule is a program in issue order: what a device's stream does step by step, with starts and
// waits of collectives moved apart where an overlap allows it, and the life of every buffer.
#pragma once

#include <vector>

#include "schedule/program/program.hpp"

namespace fourfold::inline schedule::inline order {

enum class IssueKind : std::uint8_t { compute, start, wait, allocate, release, choose };

// A buffer of a collective exists only where the collective does something.
enum class Existence : std::uint8_t { always, if_cut, if_uncut };

struct Issue {
  IssueKind kind = IssueKind::compute;
  std::int32_t id = 0;  // allocate, release: value; others: operation
  // wait: posts on the channel since the one that is waited for; or oldest_post, as how many
  // messages have been posted ahead depends on the turns that a ready-queue has chosen
  std::int32_t back = 0;
  Existence existence = Existence::always;  // allocate, release
  Axis axis = Axis::x;                      // ... of the collective that `existence` speaks of

  bool operator==(const Issue&) const = default;
};

// Where a section of the program begins in the stream.
struct IssueSection {
  std::int32_t section = 0;  // index into Program::sections
  std::int32_t first = 0;    // index into Schedule::stream
};

// What is on its way where a period of the order begins, seen from there: distances in operations
// to what is in flight or put off. The steady state has come where two periods begin alike.
using InFlight = std::vector<std::int64_t>;

struct Schedule {
  Program program;
  std::vector<Issue> stream;
  std::vector<IssueSection> sections;
  // By steady stretch: where each of its periods begins, and where the last one ends.
  std::vector<std::vector<InFlight>> at_period;

  // Where one of its sections ends in the stream, and of which turn that is.
  std::size_t end_of(std::size_t section) const {
    const bool last = section + 1 == sections.size();
    return last ? stream.size() : static_cast<std::size_t>(sections[section + 1].first);
  }
  std::int64_t turn_of(std::size_t section) const {
    return program.sections[static_cast<std::size_t>(sections[section].section)].turn;
  }
};

// Rules. Nothing starts before the stream reaches it. Overlap off: a wait right after its start.
// OAR, ORS and data reductions wait before their first use; gradient book-keeping is put off with
// them, until `in_flight_blocks` backward sections are in flight. OAG: the next gather starts when
// the current one has been waited for, before the product that uses it; without `across_blocks` a
// recomputed block's first gather starts where it stands. Messages: the next receive
// is posted when the current one has arrived, without overlap where it stands; a send is waited for
// before the next on its channel, and the last one when something else has arrived.
//
// In a ready-queue nothing but messages crosses from one turn into the next, for any may come next:
// what a turn starts it waits for, and no gather starts before its turn. So many messages as may be
// in flight are received ahead, each channel's next ones as soon as a backward has left room: a
// send never waits for what its receiver chooses, so that no choice can lock the stages up.
Schedule issue(Program program, const StepOptions& options);

// A stream cut at the turns of its ready-queue.
struct CutStream {
  struct Stretch {
    std::size_t first = 0, last = 0;  // of the stream
    std::int32_t receive = -1;        // the message that a turn begins with, its operation
  };
  Stretch before, behind;
  std::vector<Stretch> forwards, backwards;  // by micro-batch
};
// Without a ready-queue all of it is `before`.
CutStream cut_at_turns(const Schedule& schedule);

}  // namespace fourfold::inline schedule::inline order
