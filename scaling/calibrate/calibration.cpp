// The engine's measurements, then two files; see calibration.hpp.
#include "scaling/calibrate/calibration.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include "platforms/platform.hpp"
#include "scaling/calibrate/collective_errors.hpp"
#include "scaling/calibrate/library_fit.hpp"
#include "scaling/calibrate/machine_file.hpp"
#include "scaling/jobs/engine_job.hpp"
#include "scaling/words/output.hpp"
#include "support/complaint.hpp"
#include "support/own_file.hpp"
#include "support/owned_folder.hpp"
#include "support/processor_name.hpp"
#include "support/standard_streams.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

std::string stem_of(const std::string& out) {
  return out.substr(0, out.size() - std::string(".toml").size());
}

MachineFacts facts_of(const std::string& software) {
  const auto pages = static_cast<double>(sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  return {recorded_processor(), cores_of_this_machine(), pages * page,
          std::filesystem::path(software).filename().string()};
}

// One rank a core, two a core, and one alone.
std::vector<std::int64_t> rank_counts(std::int64_t cores) {
  std::vector<std::int64_t> counts{cores, 2 * cores};
  if (cores > 1) counts.push_back(1);
  return counts;
}

int measure(const CalibrationOrder& order, const std::string& into) {
  const std::int64_t cores = cores_of_this_machine();
  for (const std::int64_t ranks : rank_counts(cores)) {
    std::vector<std::string> words{"--into",      into,           "--ranks", fmt::to_string(ranks),
                                   "--transport", order.transport};
    if (ranks == cores) words.emplace_back("--kernels");
    const EngineJob job = run_engine_verb({"fourfold-engine", "measure"}, words);
    if (job.status == 0) continue;
    remark(fmt::format(
        "stopped; what was measured is kept in {}, and the same command goes on from there", into));
    return job.status;
  }
  return 0;
}

std::string summary(const Platform& platform, const std::vector<MeasuredOperation>& all) {
  const Processor& processor = platform.processor;
  std::string text = fmt::format(
      "{}\n{} measurements; products up to {:.0f} Gflop/s a rank, copies {:.1f} GB/s, a launch "
      "{:.2f} "
      "us.\n",
      platform.title, all.size(), processor.empirical_peak.value / 1e9,
      processor.memory_bandwidth.value / 1e9, processor.launch_overhead.value * 1e6);
  for (const Crowding& row : platform.node.crowding) {
    text += fmt::format("Kernels on {} rank{} at once take {:.2f} times as long.\n", row.devices,
                        row.devices == 1 ? "" : "s", row.slowdown);
  }
  text += "\nConstants of the library beside the table of what was measured:\n";
  return text +
         collective_errors_text(collective_errors(platform.library, collective_samples(all)));
}

}  // namespace

std::int64_t cores_of_this_machine() {
  return std::max(1U, std::thread::hardware_concurrency());
}

int calibrate_machine(const CalibrationOrder& order) {
  const std::string stem = stem_of(order.out);
  const std::string measured = stem + ".measured.jsonl", software = stem + ".software.toml";
  for (const std::string& path : {order.out, software, measured}) refuse_unwritable(path);
  const std::filesystem::path file(measured);
  const OwnedFolder owned(file.has_parent_path() ? file.parent_path().string() : ".",
                          file.filename().string());
  if (!owned.remark().empty()) remark(owned.remark());
  if (order.again) std::filesystem::remove(measured);
  if (std::filesystem::exists(measured)) refuse_other_processors(read_measured(measured), measured);
  if (const int status = measure(order, measured); status != 0) return status;

  std::vector<MeasuredOperation> all = read_measured(measured);
  // Those through another transport stay in the file.
  std::erase_if(all, [&](const MeasuredOperation& one) {
    return one.what.value("transport", order.transport) != order.transport;
  });
  const MachineFacts facts = facts_of(software);
  all = at_one_speed(std::move(all), facts.cores);
  write_own_file(software, software_toml(all, facts));
  write_whole_file(order.out, machine_toml(all, facts));
  print(summary(read_platform(order.out), all));
  print_line(fmt::format("{} and {} are written.", order.out, software));
  return 0;
}

}  // namespace fourfold::inline scaling::inline calibrate
