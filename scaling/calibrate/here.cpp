// Runs, simulations and their tables; see here.hpp.
#include "scaling/calibrate/here.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "platforms/platform.hpp"
#include "scaling/bars/deviations.hpp"
#include "scaling/calibrate/calibration.hpp"
#include "scaling/calibrate/measured_file.hpp"
#include "scaling/find/find_answer.hpp"
#include "scaling/jobs/interrupt.hpp"
#include "scaling/jobs/progress.hpp"
#include "scaling/words/output.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "support/complaint.hpp"
#include "support/owned_folder.hpp"
#include "support/prose.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

// What was calibrated: a file, and the reference product's seconds beside its measurements.
struct Calibrated {
  std::string path;
  Platform platform;
  double reference = 0.0;
};

HereCase simulated(const HereRun& run, const HereStep& measured, const Calibrated& here) {
  Point point;
  point.platform = here.path;
  point.model = run.model;
  point.grid = run.grid;
  point.global_batch = run.batch;
  point.options = run.options;
  const Explanation explained = explain_step(point, here.platform, std::nullopt);
  const Outcome outcome = simulate(point, {}, [](double) {}).outcome;
  return {run,
          measured,
          outcome.total,
          explained.kernels,
          outcome.exposed_total(),
          here.reference / measured.reference};
}

Deviations deviations(const std::vector<HereCase>& cases) {
  std::vector<double> values;
  for (const HereCase& one : cases) values.push_back(one.deviation());
  return deviations_of(values);
}

double raw_median(const std::vector<HereCase>& cases) {
  std::vector<double> values;
  for (const HereCase& one : cases) values.push_back(one.raw_deviation());
  return deviations_of(values).median;
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.1f}", 1e3 * seconds);
}

std::string rows_text(const std::vector<HereCase>& cases) {
  TextTable table;
  table.columns = {{"model", "", Align::left}, {"grid", "", Align::left}, {"ranks", ""},
                   {"measured", "ms"},         {"quartiles", "ms"},       {"speed", "%"},
                   {"simulated", "ms"},        {"deviation", "%"}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const HereCase& one = cases[i];
    if (i > 0 && one.run.model.name != cases[i - 1].run.model.name) table.rows.emplace_back();
    table.rows.push_back({one.run.model.name, one.run.grid.str(),
                          fmt::to_string(one.run.grid.size()), milliseconds(one.measured.median),
                          milliseconds(one.measured.low) + "-" + milliseconds(one.measured.high),
                          fmt::format("{:.0f}", 100.0 * one.speed),
                          milliseconds(one.at_this_speed()), signed_percent(one.deviation())});
  }
  return format(table);
}

std::vector<HereCase> on_ranks(const std::vector<HereCase>& cases, std::int64_t ranks) {
  std::vector<HereCase> found;
  for (const HereCase& one : cases) {
    if (one.run.grid.size() == ranks) found.push_back(one);
  }
  return found;
}

// A kind of operation: seconds of a step, measured and simulated at the speed of the run.
struct Kind {
  std::string title;
  std::function<double(const HereCase&)> measured, simulated;
};

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (KernelGroup i = 0; i < kernel_groups; ++i) {
    all.push_back({group_title(i), [i](const HereCase& one) { return one.measured.kernels.at(i); },
                   [i](const HereCase& one) { return one.kernels.at(i).value / one.speed; }});
  }
  all.push_back({"waiting for communication",
                 [](const HereCase& one) { return one.measured.exposed; },
                 [](const HereCase& one) { return one.exposed.value / one.speed; }});
  all.push_back({"between operations, and the slowest rank",
                 [](const HereCase& one) {
                   double rest = one.measured.median - one.measured.exposed;
                   for (double seconds : one.measured.kernels) rest -= seconds;
                   return rest;
                 },
                 [](const HereCase& one) {
                   double rest = one.simulated.value - one.exposed.value;
                   for (Seconds seconds : one.kernels) rest -= seconds.value;
                   return rest / one.speed;
                 }});
  return all;
}

// In % of a measured step, the mean over runs.
double share(const std::vector<HereCase>& cases,
             const std::function<double(const HereCase&)>& seconds) {
  double sum = 0.0;
  for (const HereCase& one : cases) sum += 100.0 * seconds(one) / one.measured.median;
  return sum / static_cast<double>(cases.size());
}

std::string kinds_text(const std::vector<HereCase>& cases) {
  TextTable table;
  table.columns = {{"of a measured step, %", "", Align::left},
                   {"measured", ""},
                   {"simulated", ""},
                   {"difference", "points"}};
  std::vector<std::vector<HereCase>> by_ranks;
  for (const std::int64_t ranks : {1, 2, 4}) {
    by_ranks.push_back(on_ranks(cases, ranks));
    table.columns.push_back({fmt::format("on {}", ranks), ""});
  }
  for (const Kind& kind : kinds()) {
    const auto difference = [&](const std::vector<HereCase>& some) {
      return some.empty()
                 ? "-"
                 : fmt::format("{:+.1f}", share(some, kind.simulated) - share(some, kind.measured));
    };
    table.rows.push_back({kind.title, fmt::format("{:.1f}", share(cases, kind.measured)),
                          fmt::format("{:.1f}", share(cases, kind.simulated)), difference(cases)});
    for (const auto& some : by_ranks) table.rows.back().push_back(difference(some));
  }
  return format(table);
}

}  // namespace

GridOrder order_of(const std::vector<HereCase>& cases) {
  GridOrder order;
  double sum = 0.0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (std::size_t j = i + 1; j < cases.size(); ++j) {
      const HereCase& a = cases[i];
      const HereCase& b = cases[j];
      if (a.run.model.name != b.run.model.name) continue;
      ++order.all;
      const double of_a = a.speed, of_b = b.speed;  // as if it had been the same for both
      const bool a_first = a.measured.high * of_a < b.measured.low * of_b;
      if (!a_first && !(b.measured.high * of_b < a.measured.low * of_a)) continue;
      ++order.pairs;
      const double difference = b.simulated.value - a.simulated.value;
      if (difference != 0.0) sum += (difference > 0.0) == a_first ? 1.0 : -1.0;
    }
  }
  if (order.pairs > 0) order.tau = sum / static_cast<double>(order.pairs);
  return order;
}

std::vector<std::string> missed_targets(const std::vector<HereCase>& cases) {
  const Deviations found = deviations(cases);
  const GridOrder order = order_of(cases);
  const double worst = std::abs(cases.at(found.worst).deviation());
  std::vector<std::string> missed;
  if (found.median > most_median) {
    missed.push_back(fmt::format("the median deviation is {:.1f} %, above {:.0f} %",
                                 100.0 * found.median, 100.0 * most_median));
  }
  if (worst > most_worst) {
    missed.push_back(fmt::format("{} deviates by {:.1f} %, above {:.0f} %",
                                 cases[found.worst].run.id(), 100.0 * worst, 100.0 * most_worst));
  }
  if (order.tau < least_tau) {
    missed.push_back(
        fmt::format("tau is {:.2f} over {} pairs, below {:g}", order.tau, order.pairs, least_tau));
  }
  return missed;
}

std::string here_text(const std::vector<HereCase>& cases) {
  const Deviations found = deviations(cases);
  std::string text = rows_text(cases);
  text += fmt::format(
      "\nMedian |deviation| {:.1f} %, bias {:+.1f} %, worst {:+.1f} % ({}); {} runs.\n",
      100.0 * found.median, 100.0 * found.bias, 100.0 * cases.at(found.worst).deviation(),
      cases[found.worst].run.id(), cases.size());
  for (const std::int64_t ranks : {1, 2, 4}) {
    const std::vector<HereCase> some = on_ranks(cases, ranks);
    if (some.empty()) continue;
    const Deviations of = deviations(some);
    text += fmt::format("  on {} rank{}: median {:.1f} %, bias {:+.1f} %, worst {:+.1f} %\n", ranks,
                        ranks == 1 ? "" : "s", 100.0 * of.median, 100.0 * of.bias,
                        100.0 * some[of.worst].deviation());
  }
  text +=
      wrapped(
          "Speed: of a small product beside the steps, over that beside the calibration; what was "
          "simulated is at the speed of the run, and without that the median would be " +
          fmt::format("{:.1f} %.", 100.0 * raw_median(cases))) +
      "\n";
  const GridOrder order = order_of(cases);
  text += fmt::format(
      "Kendall's tau of grids {:.2f}, over {} of {} pairs, whose quartile ranges do not "
      "overlap.\n\n",
      order.tau, order.pairs, order.all);
  return text + kinds_text(cases);
}

std::string here_json(const std::vector<HereCase>& cases) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const HereCase& one : cases) {
    rows.push_back({{"model", one.run.model.name},
                    {"grid", one.run.grid.str()},
                    {"ranks", one.run.grid.size()},
                    {"measured_s", one.measured.median},
                    {"measured_low_s", one.measured.low},
                    {"measured_high_s", one.measured.high},
                    {"simulated_s", one.simulated.value},
                    {"speed", one.speed},
                    {"foreign_cores", one.measured.foreign_cores},
                    {"deviation", one.deviation()}});
  }
  const Deviations found = deviations(cases);
  const GridOrder order = order_of(cases);
  return nlohmann::ordered_json{{"rows", rows},
                                {"median", found.median},
                                {"worst", cases.at(found.worst).deviation()},
                                {"tau", order.tau},
                                {"pairs", order.pairs},
                                {"missed", missed_targets(cases)}}
             .dump() +
         '\n';
}

int validate_here(const HereOrder& order) {
  std::filesystem::create_directories(order.folder);
  const OwnedFolder owned(order.folder, "runs.jsonl");
  if (!owned.remark().empty()) remark(owned.remark());
  const std::string path = order.platform.empty() ? order.folder + "/here.toml" : order.platform;
  if (order.platform.empty() && !std::filesystem::is_regular_file(path)) {
    const int status = calibrate_machine({path, order.transport, false});
    if (status != 0) return status;
  }
  const std::string stem = path.substr(0, path.size() - std::string(".toml").size());
  const std::vector<MeasuredOperation> measurements = read_measured(stem + ".measured.jsonl");
  refuse_other_processors(measurements, stem + ".measured.jsonl");
  const Calibrated here{path, read_platform(path),
                        reference_seconds(measurements, cores_of_this_machine())};
  const std::vector<HereRun> runs = here_runs();
  for (const HereRun& run : runs) {
    if (run.grid.size() <= here.platform.devices()) continue;
    throw std::runtime_error(
        fmt::format("{} has room for {} ranks, two a core, and this set has runs on {}", path,
                    here.platform.devices(), run.grid.size()));
  }
  HereStore store(order.folder + "/runs.jsonl");
  std::vector<HereCase> cases;
  Progress progress(std::ssize(runs), static_cast<double>(runs.size()));
  for (const HereRun& run : runs) {
    stop_if_interrupted();
    progress.begin(run.id(), 1.0);
    const HereStep measured = store.step(run, order.transport, [&] {
      progress.update("training", 0.0);
      return train_here(run, order.transport, order.folder + "/training");
    });
    cases.push_back(simulated(run, measured, here));
    progress.finish(fmt::format("{:.1f} ms measured, {:.1f} simulated", 1e3 * measured.median,
                                1e3 * cases.back().at_this_speed()));
  }
  print(order.json ? here_json(cases) : here_text(cases));
  const std::vector<std::string> missed = missed_targets(cases);
  for (const std::string& sentence : missed) remark(sentence);
  return missed.empty() ? 0 : 1;
}

}  // namespace fourfold::inline scaling::inline calibrate
