// One device, as all are alike in the closed form; see trace_file.hpp.
#include "scaling/trace_file.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "sim/lower.hpp"
#include "sim/trace.hpp"

namespace fourfold {
namespace {

std::string title_of(const Record& record) {
  return fmt::format("{} on {} devices of {}, grid {}, {}", record.point.model.name,
                     record.devices(), record.point.platform, record.point.grid.str(),
                     name(record.fidelity));
}

}  // namespace

void refuse_trace(Fidelity fidelity, const std::string& path) {
  if (fidelity != Fidelity::estimated) {
    throw std::runtime_error(
        "--trace draws the timeline of the closed form, in which all devices are alike: add "
        "--fidelity estimated");
  }
  refuse_unwritable(path);
}

void write_trace_of(const Record& record, const std::string& path) {
  const Platform platform = read_platform(record.point.platform, record.point.scales);
  const TimedProgram program = lower(record.point, platform);
  const ProgramDetail detail(record.point, platform, program);
  const DeviceLog log = estimated_log(program);
  const Repeated repeated = repeated_in_trace(detail, 1);
  TracedDevice device{0, "every device: they are alike in the closed form",
                      timeline(log, detail, LoggedRepetitions::all(program), repeated)};
  write_trace(path, trace_json({std::move(device)}, detail, title_of(record)));
}

}  // namespace fourfold
