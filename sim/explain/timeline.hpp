// A timeline is the start and end of everything a device does in a step: kernels one by one, waits,
// and the collectives in flight on every channel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "schedule/fold/names.hpp"
#include "sim/cost/timed_program.hpp"
#include "sim/explain/device_log.hpp"
#include "sim/explain/program_detail.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline explain {

// interference: kernels slowed by the collective that is then waited for. skipped: repetitions that
// the timeline leaves out.
enum class SpanKind : std::uint8_t { kernel, interference, wait, collective, skipped };
const char* name(SpanKind kind);

struct Span {
  SpanKind kind = SpanKind::kernel;
  ChannelNumber channel = 0;  // wait, collective
  std::int32_t name = -1;     // index into Timeline::names; kernel, collective
  std::int32_t section = 0;   // index into ProgramDetail::sections
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

// Of a device of that stage. Repetitions that the log has not are left as gaps of their length, so
// that stamps are true.
std::vector<Span> timeline(const DeviceLog& log, const ProgramDetail& detail,
                           const LoggedRepetitions& logged, Repeated repeated,
                           std::int64_t stage = 0);

}  // namespace fourfold::inline sim::inline explain
