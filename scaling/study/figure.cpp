// Rows of studies as CSV of figures and as tables; see figure.hpp.
#include "scaling/study/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "scaling/records/time_parts.hpp"
#include "scaling/study/speedup.hpp"
#include "scaling/study/sweep.hpp"
#include "scaling/study/sweep_lines.hpp"
#include "scaling/study/system_table.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "scaling/words/throughput_text.hpp"
#include "support/nearest_name.hpp"
#include "support/prose.hpp"
#include "support/visible_text.hpp"

namespace fourfold::inline scaling::inline study {

const std::vector<FigureKind>& figure_kinds() {
  static const std::vector<FigureKind> kinds{
      {"pflops", "model Pflop/s against devices, with the ideal line and published points"},
      {"time", "seconds of a batch, stacked into compute and exposed communication"},
      {"systems", "the same system by system, or label by label, points side by side"},
      {"strong", "days of a run against devices, ideal line, speed-up and efficiency"},
      {"ranks", "every grid in the order of its estimate, estimated and simulated"},
      {"lines", "what changes cost in per cent, against devices or the numbers of a sweep"},
      {"machines", "one model on several machines, side by side"}};
  return kinds;
}

const FigureKind& figure_named(const std::string& name) {
  std::vector<std::string> known;
  for (const FigureKind& kind : figure_kinds()) {
    if (name == kind.name) return kind;
    known.emplace_back(kind.name);
  }
  throw std::runtime_error("unknown figure '" + name + "'" + one_of_these(name, known));
}

std::string csv_cell(const std::string& text) {
  constexpr std::array instead{"\u2019", "\u2019", ";", "/", " ", " "};
  std::string cell(text.size() > 1 && text.find_first_of("=+-@") == 0 ? 1 : 0, ' ');
  for (const char letter : visible(text)) {
    const std::size_t at = std::string("\"',\\\n\t").find(letter);
    cell += at == std::string::npos ? std::string(1, letter) : instead.at(at);
  }
  return cell;
}

namespace {

std::string number(double value) {
  return fmt::format("{:.9g}", value);
}

double tokens_of_batch(const Record& record) {
  return static_cast<double>(record.point.global_batch) *
         static_cast<double>(record.point.model.sequence);
}

// Of an error bar, or the quartiles of what was measured.
struct Ends {
  std::optional<Seconds> low, high;
};

Ends ends_of(const Record& record) {
  if (record.measured) return {record.measured->low, record.measured->high};
  if (!record.bar) return {};
  return {record.seconds() * (1.0 + record.bar->low), record.seconds() * (1.0 + record.bar->high)};
}

std::string strong_csv(const Study& study) {
  std::string text = "series,devices,time,ideal,speedup,efficiency,low,high,published,grid,model\n";
  const std::vector<Speedup> scaling = speedups(study);
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const StudyRow& row = study.rows[i];
    const Speedup& speedup = scaling[i];
    const Seconds seconds = row.record.seconds();
    const auto unit = [&](Seconds value) { return number(in_unit(row, value, study)); };
    const Ends ends = ends_of(row.record);
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(speedup.series), row.record.devices(),
        unit(seconds), unit(speedup.ideal), number(speedup.speedup), number(speedup.efficiency),
        ends.low ? unit(*ends.low) : "", ends.high ? unit(*ends.high) : "",
        row.published ? unit(*row.published) : "", csv_cell(row.record.point.grid.str()),
        csv_cell(row.record.point.model.name));
  }
  return text;
}

std::string systems_csv(const Study& study) {
  std::string text =
      "machine,devices,model,vocabulary,fidelity,system,given,compute_s,exposed_x_s,exposed_y_s,"
      "exposed_z_s,exposed_data_s,exposed_pipe_s,bubble_s,other_s,bar_low_s,bar_high_s,"
      "published_batch_s,grid\n";
  for (const StudyRow& row : study.rows) {
    const Record& record = row.record;
    text += fmt::format("{},{},{},{},{},{},{}", csv_cell(row.machine), record.devices(),
                        csv_cell(record.point.model.name), record.point.model.vocabulary,
                        name(record.fidelity),
                        csv_cell(row.label.empty() ? system_label(record) : row.label),
                        row.label.empty() && row.given ? 1 : 0);
    for (const TimePart& part : time_parts(record.outcome))
      text += ',' + number(part.seconds.value);
    const Seconds seconds = record.seconds();
    text += record.bar ? fmt::format(",{},{}", number(seconds.value * (1.0 + record.bar->low)),
                                     number(seconds.value * (1.0 + record.bar->high)))
                       : ",,";
    text += fmt::format(",{},{}\n", row.published ? number(row.published->value) : "",
                        csv_cell(record.point.grid.str()));
  }
  return text;
}

std::vector<GridSeconds> by_estimate(const Record& record) {
  std::vector<GridSeconds> grids = record.simulated;
  std::ranges::stable_sort(grids, {}, [](const GridSeconds& one) { return one.estimated.value; });
  return grids;
}

std::string ranks_csv(const Study& study) {
  std::string text =
      "series,rank,estimated_s,simulated_s,paper_communication_s,chosen,paper_first,grid,"
      "micro_batches\n";
  for (const StudyRow& row : study.rows) {
    const Record& record = row.record;
    const std::string where = joined(row.machine, several_systems(study) ? record.system : "");
    const std::string series = fmt::format("{} on {} devices of {}", record.point.model.name,
                                           record.devices(), joined(where, row.label));
    const auto is = [](const GridSeconds& a, const ProcessGrid& grid, std::int64_t micro_batches) {
      return a.grid == grid && a.micro_batches == micro_batches ? 1 : 0;
    };
    std::int64_t rank = 0;
    for (const GridSeconds& grid : by_estimate(record)) {
      text += fmt::format(
          "{},{},{},{},{},{},{},{},{}\n", csv_cell(series), ++rank, number(grid.estimated.value),
          grid.simulated ? number(grid.simulated->value) : "", number(grid.paper.value),
          is(grid, record.point.grid, record.point.options.micro_batches),
          is(grid, record.paper_choice.grid, record.paper_choice.micro_batches),
          csv_cell(grid.grid.str()), grid.micro_batches);
    }
  }
  return text;
}

std::string machines_csv(const Study& study) {
  std::string text = "bar,machine,devices,model,value,low,high,mfu,grid\n";
  for (const StudyRow& row : study.rows) {
    const Record& record = row.record;
    const auto unit = [&](Seconds value) { return number(in_unit(row, value, study)); };
    const Seconds seconds = record.seconds();
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{}\n",
        csv_cell(joined(joined(row.machine, label_with_value(row)), told_apart(row, study, true))),
        csv_cell(row.machine), record.devices(), csv_cell(record.point.model.name), unit(seconds),
        record.bar ? unit(seconds * (1.0 + record.bar->low)) : "",
        record.bar ? unit(seconds * (1.0 + record.bar->high)) : "", number(record.throughput().mfu),
        csv_cell(record.point.grid.str()));
  }
  return text;
}

}  // namespace

std::string figure_csv(const std::string& kind, const Study& study) {
  if (kind == "strong") return strong_csv(study);
  if (kind == "systems") return systems_csv(study);
  if (kind == "ranks") return ranks_csv(study);
  if (kind == "lines") return lines_csv(study);
  if (kind == "machines") return machines_csv(study);
  return "";
}

double in_unit(const StudyRow& row, Seconds seconds, const Study& study) {
  if (study.tokens <= 0.0) return seconds.value;
  return seconds.value * study.tokens / tokens_of_batch(row.record) / 86'400.0;
}

std::string unit_text(const Study& study) {
  if (study.tokens <= 0.0) return "seconds per batch";
  const bool many = study.tokens >= 1e12;
  const std::string tokens =
      fmt::format("{:.3g}{}", study.tokens / (many ? 1e12 : 1e9), many ? "T" : "B");
  return fmt::format("days for {} tokens", tokens);
}

std::string run_table(const Study& study) {
  if (study.tokens <= 0.0) return "";
  TextTable table;
  table.columns = {{"machine", "", Align::left}, {"devices", ""},
                   {"model", "", Align::left},   {"", "", Align::left},
                   {"system", "", Align::left},  {"days", ""},
                   {"80 % bar", "days"},         {"speed-up", ""},
                   {"efficiency", "%"},          {"device-hours", ""}};
  const std::vector<Speedup> scaling = speedups(study);
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const StudyRow& row = study.rows[i];
    const Speedup& speedup = scaling[i];
    const Seconds seconds = row.record.seconds();
    const double days = in_unit(row, seconds, study);
    const std::optional<ErrorBar>& bar = row.record.bar;
    table.rows.push_back(
        {row.machine, fmt::to_string(row.record.devices()), row.record.point.model.name,
         label_with_value(row), compares_systems(study) ? system_label(row.record) : "",
         fmt::format("{:.1f}", days),
         bar ? fmt::format("{:.1f}-{:.1f}", days * (1.0 + bar->low), days * (1.0 + bar->high))
             : "-",
         fmt::format("{:.2f}", speedup.speedup), percent(speedup.efficiency),
         short_number(24.0 * days * static_cast<double>(row.record.devices()))});
  }
  return fmt::format(
      "Time to solution: {}, without failures and checkpoints; speed-up and efficiency, in "
      "model\nflop/s, against the fewest devices of the same machine, system and label, and of the "
      "same model\nunless it grows with the devices; of repetitions, their median.\n\n{}\n",
      unit_text(study), format(table));
}

std::string ranks_text(const Study& study) {
  std::string text;
  for (const StudyRow& row : study.rows) {
    const Record& record = row.record;
    if (static_cast<std::int64_t>(record.simulated.size()) + record.left_out < record.feasible ||
        record.simulated.size() < 2) {
      return "";
    }
    const std::vector<GridSeconds> grids = by_estimate(record);
    std::size_t chosen = 0, paper = 0;
    for (std::size_t i = 0; i < grids.size(); ++i) {
      if (grids[i].simulated < grids[chosen].simulated) chosen = i;
      if (grids[i].grid == record.paper_choice.grid &&
          grids[i].micro_batches == record.paper_choice.micro_batches) {
        paper = i;
      }
    }
    const double best = grids[chosen].simulated->value;
    text +=
        wrapped(fmt::format(
            "{} on {} devices of {}: all {} grids simulated. The fastest, {} ({:.2f} s), is number "
            "{} by estimate; the estimate's first takes {:.1f} % longer, the paper's model's first "
            "{:.1f} %. Kendall's tau of estimate and simulation {:.3f}.",
            record.point.model.name, record.devices(), row.machine, grids.size(),
            grids[chosen].grid.str(), best, chosen + 1,
            100.0 * (grids[0].simulated->value / best - 1.0),
            100.0 * (grids[paper].simulated->value / best - 1.0), record.tau.value_or(1.0))) +
        '\n';
  }
  return text + '\n';
}

}  // namespace fourfold::inline scaling::inline study
