// A line for runs that differ in their seed alone; see measured_table.hpp.
#include "scaling/study/measured_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scaling/study/repetitions.hpp"
#include "scaling/study/speedup.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/throughput_text.hpp"
#include "schedule/models/model_flops.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

std::string milliseconds(double seconds) {
  return fmt::format("{:.1f}", 1e3 * seconds);
}

std::vector<std::string> cells_of(const Runs& runs, const Speedup& speedup) {
  const StudyRow& row = *runs.front();
  const Record& record = row.record;
  double low = record.measured->low.value, high = record.measured->high.value;
  for (const StudyRow* one : runs) {
    low = std::min(low, one->record.measured->low.value);
    high = std::max(high, one->record.measured->high.value);
  }
  const double seconds = median_seconds(runs).value;
  const auto share = [&](const auto& number) { return percent(median_of(runs, number)); };
  const double tokens = static_cast<double>(record.point.global_batch) *
                        static_cast<double>(record.point.model.sequence);
  std::string simulated = "-", deviation = "-", speed = "-";
  if (row.speed) {
    speed = fmt::format("{:.0f}", 100.0 * median_of(runs, [](const StudyRow& one) {
                                    return one.speed.value_or(1.0);
                                  }));
  }
  if (row.twin) {
    const double twin = median_of(runs, [&](const StudyRow& one) {
      return one.simulated().value_or(*row.simulated()).value;
    });
    simulated = milliseconds(twin);
    deviation = signed_percent(twin / seconds - 1.0);
  }
  return {record.point.model.name,
          row.label,
          fmt::to_string(record.devices()),
          record.point.grid.str(),
          fmt::to_string(runs.size()),
          milliseconds(seconds),
          milliseconds(low) + "-" + milliseconds(high),
          short_number(tokens / seconds),
          fmt::format("{:.1f}", median_rate(runs).value / 1e9),
          share([](const StudyRow& one) { return one.record.throughput().mfu; }),
          share([](const StudyRow& one) { return one.record.throughput().hfu; }),
          share([](const StudyRow& one) { return one.record.exposed_share(); }),
          fmt::format("{:.2f}", speedup.speedup),
          percent(speedup.efficiency),
          speed,
          simulated,
          deviation};
}

std::string notes(const Study& study, const std::vector<Runs>& points) {
  std::set<std::string> machines, conventions, others;
  double disturbed = 0.0;
  for (const StudyRow& row : study.rows) {
    machines.insert(row.record.measured->cpu);
    conventions.insert(
        model_flops_convention(row.record.point.model, row.record.point.options.recompute));
    disturbed = std::max(disturbed, row.record.measured->foreign_cores);
    if (row.twin && !row.speed) {
      others.insert(
          fmt::format("{} is no calibration of {}", row.machine, row.record.measured->cpu));
    }
  }
  std::string text = wrapped(
      fmt::format("Measured on {}, the slowest rank's median step; more ranks than cores share "
                  "them. Gflop/s are model flops: {}. MFU and HFU: of the fp32 peak that was "
                  "measured at the start of each run, on all its ranks at once. Waits: part of a "
                  "step in which a rank stood still for communication. Speed-up and efficiency: "
                  "Gflop/s against the fewest ranks. Speed: of a small product beside the steps, "
                  "against the calibration; simulated seconds are at that speed.",
                  fmt::join(machines, "; "), fmt::join(conventions, "; ")),
      page_width);
  text += '\n';
  for (const Runs& runs : points) {
    const StudyRow& row = *runs.front();
    if (row.no_twin.empty()) continue;
    text += fmt::format("{} on {} ranks has no simulated twin: {}.\n", row.record.point.model.name,
                        row.record.devices(), row.no_twin);
  }
  for (const std::string& other : others) {
    text += wrapped(fmt::format("{}: what is simulated are its own seconds, which deviate from "
                                "those of the machine that was measured as the two differ.",
                                other)) +
            '\n';
  }
  constexpr double disturbing = 0.25;
  if (disturbed > disturbing) {
    text += fmt::format(
        "Other processes kept up to {:.1f} cores busy meanwhile: measure again on an idle "
        "machine.\n",
        disturbed);
  }
  return text;
}

}  // namespace

bool is_measured(const Study& study) {
  return !study.rows.empty() && study.rows.front().record.measured.has_value();
}

std::string measured_text(const Study& study, Width width) {
  TextTable table;
  table.columns = {{"model", "", Align::left},
                   {"", "", Align::left},
                   {"ranks", ""},
                   {"grid", "", Align::left},
                   {"runs", "", Align::right, 9},
                   {"measured", "ms"},
                   {"quartiles", "ms"},
                   {"tokens/s", ""},
                   {"Gflop/s", ""},
                   {"MFU", "%"},
                   {"HFU", "%", Align::right, 8},
                   {"waits", "%", Align::right, 5},
                   {"speed-up", ""},
                   {"efficiency", "%"},
                   {"speed", "%", Align::right, 6},
                   {"simulated", "ms"},
                   {"deviation", "%"}};
  const std::vector<Runs> points = runs_of(study);
  const std::vector<Speedup> scaling = speedups(study);
  std::string before;
  for (const Runs& runs : points) {
    const Speedup& speedup = scaling[static_cast<std::size_t>(runs.front() - study.rows.data())];
    if (!before.empty() && before != speedup.series) table.rows.emplace_back();
    before = speedup.series;
    table.rows.push_back(cells_of(runs, speedup));
  }
  return study.title + "\n\n" + format(table, width) + '\n' + notes(study, points);
}

}  // namespace fourfold::inline scaling::inline study
