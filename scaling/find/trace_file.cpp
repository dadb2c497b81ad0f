// Timelines of logged devices, or the one of the closed form, in which all are alike; see
// trace_file.hpp.
#include "scaling/find/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/lower.hpp"
#include "sim/explain/trace.hpp"
#include "support/prose.hpp"
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

std::string write_trace_of(const Record& record, const std::string& path) {
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
    // At least two devices are written out whole where there is room for them.
    std::int64_t whole = repeated_in_trace(detail, 2) == Repeated::all ? 2 : 0;
    for (const DeviceTimeline& one : replay.timelines) {
      const std::int64_t stage = grid.coordinate(one.rank, Axis::pipe);
      const std::string place = stages == 1 ? "" : fmt::format(", stage {}", stage);
      devices.push_back({one.rank, fmt::format("rank {}{}: {}", one.rank, place, one.name),
                         timeline(one.log, detail, replay.logged,
                                  whole-- > 0 ? Repeated::all : repeated, stage)});
    }
  }
  const MemoryCourse course = memory_course(record.point, platform);
  for (TracedDevice& device : devices) {
    const std::int64_t stage = grid.coordinate(device.rank, Axis::pipe);
    device.memory = memory_over_time(course.stages.at(static_cast<std::size_t>(stage)),
                                     device.spans, detail.first_section(stage));
  }
  write_whole_file(path, trace_json(devices, detail, title_of(record)));
  double left_out = 0.0, all = 0.0;
  for (const TracedDevice& device : devices) {
    for (const Span& span : device.spans) {
      all = std::max(all, span.end.value);
      if (span.kind == SpanKind::skipped) left_out += (span.end - span.start).value;
    }
  }
  const double shown = 1.0 - left_out / (all * static_cast<double>(devices.size()));
  return fmt::format(
      "{}: {} of {}, {:.0f} % of the {:.3f} s of their step written out{}; open it at "
      "https://ui.perfetto.dev or chrome://tracing",
      path, devices.size(), counted(record.devices(), "device"), 100.0 * shown, all,
      left_out > 0.0 ? ", the rest as repetitions that are alike" : "");
}

}  // namespace fourfold::inline scaling::inline find
