// Timelines of logged devices, or the one of the closed form, in which all are alike; see
// trace_file.hpp.
#include "scaling/find/trace_file.hpp"

#include <fmt/format.h>

#include "sim/cost/lower.hpp"
#include "sim/explain/trace.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

std::string title_of(const Record& record) {
  std::string title =
      fmt::format("{} on {} devices of {}, grid {}, {}", record.point.model.name, record.devices(),
                  record.point.platform, record.point.grid.str(), name(record.fidelity));
  for (const auto& [key, factor] : record.point.scales) {
    title += fmt::format("; {} times {:g}", key, factor);
  }
  for (const std::string& sentence : sentences(record.point.what_ifs, record.devices())) {
    title += "; " + sentence;
  }
  return title;
}

}  // namespace

void write_trace_of(const Record& record, const std::string& path) {
  const Platform platform =
      read_platform(record.point.platform, record.point.scales, record.point.software);
  const TimedProgram program = lower(record.point, platform);
  const ProgramDetail detail(record.point, platform, program);
  const ProcessGrid& grid = record.point.grid;
  const std::int64_t stages = grid.extent(Axis::pipe);
  std::vector<TracedDevice> devices;
  if (!record.replay || !record.replay->detail) {
    const LoggedRepetitions logged = LoggedRepetitions::all(program);
    const Repeated repeated = repeated_in_trace(detail, 1);  // all stages together have its spans
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      const std::string role =
          stages == 1
              ? "every device: they are alike in the closed form"
              : fmt::format("every device of stage {}: they are alike in the closed form", stage);
      devices.push_back({stage * grid.stride(Axis::pipe), role,
                         timeline(estimated_log(program, stage), detail, logged, repeated, stage)});
    }
  } else {
    const ReplayDetail& replay = *record.replay->detail;
    const auto timelines = static_cast<std::int64_t>(replay.timelines.size());
    const Repeated repeated = repeated_in_trace(detail, (timelines + stages - 1) / stages);
    for (const DeviceTimeline& one : replay.timelines) {
      const std::int64_t stage = grid.coordinate(one.rank, Axis::pipe);
      const std::string place = stages == 1 ? "" : fmt::format(", stage {}", stage);
      devices.push_back({one.rank, fmt::format("rank {}{}: {}", one.rank, place, one.name),
                         timeline(one.log, detail, replay.logged, repeated, stage)});
    }
  }
  write_whole_file(path, trace_json(devices, detail, title_of(record)));
}

}  // namespace fourfold::inline scaling::inline find
