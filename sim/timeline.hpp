// A timeline is the start and end of everything a device does in a step: kernels one by one, waits,
// and the collectives in flight on every lane.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "schedule/names.hpp"
#include "sim/device_log.hpp"
#include "sim/point.hpp"
#include "sim/timed_program.hpp"

namespace fourfold {

// interference: kernels slowed by the collective that is then waited for. skipped: repetitions that
// the timeline leaves out.
enum class SpanKind : std::uint8_t { kernel, interference, wait, collective, skipped };
const char* name(SpanKind kind);

struct Span {
  SpanKind kind = SpanKind::kernel;
  Lane lane = Lane::x;       // wait, collective
  std::int32_t name = -1;    // index into Timeline::names; kernel, collective
  std::int32_t section = 0;  // index into NamedStep::sections
  std::int64_t micro_batch = -1;
  std::int32_t collective = -1;  // index into TimedProgram::collectives
  Seconds start, end;
};

// all: every repetition; sampled: of each loop the first two, a middle one and the last two.
enum class Repeated : std::uint8_t { all, sampled };

// How many repetitions of each loop a log has; the rest is like the last one.
struct LoggedRepetitions {
  std::vector<std::int64_t> runs, cycles;

  static LoggedRepetitions all(const TimedProgram& program);
};

// What a timed program was lowered from, kernel by kernel.
class ProgramDetail {
 public:
  // Throws std::logic_error if `program` is not the point's.
  ProgramDetail(const Point& point, const Platform& platform, const TimedProgram& program);

  struct Kernel {
    std::int32_t name = -1;
    Seconds time;
  };
  // Of a compute step; empty for others.
  const std::vector<Kernel>& kernels(std::int32_t step) const { return kernels_.at(step); }
  std::int32_t post_name(std::int32_t step) const { return post_names_.at(step); }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<NamedSection>& sections() const { return sections_; }
  const TimedProgram& program() const { return program_; }
  // Spans of a timeline with every repetition, roughly.
  std::int64_t span_count() const;

 private:
  std::int32_t number(const std::string& name);

  const TimedProgram& program_;
  std::vector<std::vector<Kernel>> kernels_;  // by step
  std::vector<std::int32_t> post_names_;      // by step
  std::vector<std::string> names_;
  std::vector<NamedSection> sections_;
};

// Repetitions that the log has not are left as gaps of their length, so that stamps are true.
std::vector<Span> timeline(const DeviceLog& log, const ProgramDetail& detail,
                           const LoggedRepetitions& logged, Repeated repeated);

}  // namespace fourfold
