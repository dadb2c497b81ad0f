// Timelines of logged devices, or the one of the closed form, in which all are alike; see
// trace_file.hpp.
#include "scaling/find/trace_file.hpp"

#include <fmt/format.h>

#include "sim/cost/lower.hpp"
#include "sim/explain/trace.hpp"
#include "support/whole_file.hpp"

namespace fourfold {
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
  const Platform platform = read_platform(record.point.platform, record.point.scales);
  const TimedProgram program = lower(record.point, platform);
  const ProgramDetail detail(record.point, platform, program);
  std::vector<TracedDevice> devices;
  if (!record.replay || !record.replay->detail) {
    devices.push_back({0, "every device: they are alike in the closed form",
                       timeline(estimated_log(program), detail, LoggedRepetitions::all(program),
                                repeated_in_trace(detail, 1))});
  } else {
    const ReplayDetail& replay = *record.replay->detail;
    const Repeated repeated =
        repeated_in_trace(detail, static_cast<std::int64_t>(replay.timelines.size()));
    for (const DeviceTimeline& one : replay.timelines) {
      devices.push_back({one.rank, fmt::format("rank {}: {}", one.rank, one.name),
                         timeline(one.log, detail, replay.logged, repeated)});
    }
  }
  write_whole_file(path, trace_json(devices, detail, title_of(record)));
}

}  // namespace fourfold
