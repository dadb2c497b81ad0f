// A study as a table and as CSV; see study_table.hpp.
#include "scaling/study/study_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "scaling/records/time_parts.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/study/memory_table.hpp"
#include "scaling/study/speedup.hpp"
#include "scaling/study/system_table.hpp"
#include "scaling/words/percents.hpp"
#include "schedule/models/model_flops.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline study {

RateUnit rate_unit(const Study& study) {
  FlopsPerSecond largest;
  for (const StudyRow& row : study.rows) largest = std::max(largest, row.record.rate());
  return unit_for(largest, petaflops);
}

namespace {

// Of a pipeline the axes are named.
std::string dotted(const ProcessGrid& grid) {
  std::string text = grid.str();
  if (grid.extent(Axis::pipe) > 1) return text;
  std::replace(text.begin(), text.end(), 'x', '.');
  return text;
}

std::string bar_cell(const Record& record) {
  if (!record.bar) return "-";
  return fmt::format("{:.2f}-{:.2f}", record.seconds().value * (1.0 + record.bar->low),
                     record.seconds().value * (1.0 + record.bar->high));
}

std::string quantile_cell(const Record& record, double StepSpread::*over_median) {
  if (!record.varies) return "-";
  return fmt::format("{:.2f}", record.seconds().value * *record.varies.*over_median);
}

// Whether any point was more than one grid.
bool ranks_grids(const Study& study) {
  return std::ranges::any_of(study.rows,
                             [](const StudyRow& row) { return row.record.best_grids.size() > 1; });
}

TextTable main_table(const Study& study) {
  const auto [flops, one_flops] = rate_unit(study);
  TextTable table;
  table.columns = {{"machine", "", Align::left},
                   {"devices", ""},
                   {"model", "", Align::left},
                   {"", "", Align::left},
                   {"grid", "x.y.z.data", Align::left},
                   {"micro-", "batches", Align::right, 5},
                   {"ten best", "grids, s", Align::right, 7},
                   {"batch", "s"},
                   {"80 % bar", "s"},
                   {flops, ""},
                   {"MFU", "%"},
                   {"HFU", "%", Align::right, 8},
                   {"of emp.", "peak, %", Align::right, 9},
                   {"exposed", "comm., %", Align::right, 1},
                   {"memory/device", "GB of GB", Align::right, 2},
                   {"published", "s"},
                   {"deviation", "%"}};
  std::string machine = study.rows.empty() ? "" : study.rows.front().machine;
  const bool several = ranks_grids(study);
  for (const StudyRow& row : study.rows) {
    if (row.machine != machine) table.rows.emplace_back();
    machine = row.machine;
    const Record& record = row.record;
    const Spread best = spread(record);
    const std::optional<double> deviation = row.deviation();
    const Throughput throughput = record.throughput();
    table.rows.push_back(
        {row.machine, fmt::to_string(record.devices()), record.point.model.name,
         label_with_value(row), dotted(record.point.grid),
         fmt::to_string(record.point.options.micro_batches),
         several ? fmt::format("{:.2f}-{:.2f}", best.least.value, best.most.value) : "-",
         fmt::format("{:.2f}{}", record.seconds().value, record.verdict == "capped" ? "^" : " "),
         bar_cell(record), fmt::format("{:.1f}", record.rate() / one_flops),
         percent(throughput.mfu), percent(throughput.hfu), percent(record.of_empirical()),
         percent(record.exposed_share()),
         fmt::format("{:.1f} of {:.1f}", record.memory.value / 1e9,
                     record.memory_limit.value / 1e9),
         row.published ? fmt::format("{:.2f}{}", row.published->value, row.derived ? "*" : " ")
                       : "- ",
         deviation ? signed_percent(*deviation) : "-"});
  }
  if (!study.unfit.empty()) table.rows.emplace_back();
  for (const UnfitPoint& point : study.unfit) {
    std::vector<std::string> row(table.columns.size(), "-");
    row[0] = point.machine, row[1] = fmt::to_string(point.devices), row[2] = point.model;
    row[3] = point.label, row[4] = fits_nowhere;
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string throughput_table(const Study& study, Width width) {
  TextTable table;
  table.columns = {{"machine", "", Align::left},
                   {"devices", ""},
                   {"model", "", Align::left},
                   {"", "", Align::left},
                   {"tokens/s", ""},
                   {"tokens/s", "a device", Align::right, 2},
                   {"efficiency", "of fewest, %", Align::right, 0},
                   {"days for", "1e12 tokens"},
                   {"device-hours", "for 1e12"},
                   {"p90", "of steps, s", Align::right, 3},
                   {"p99", "of steps, s", Align::right, 3},
                   {"runs like it", "of sources, on", Align::left, 1}};
  const std::vector<Speedup> scaling = speedups(study);
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const StudyRow& row = study.rows[i];
    const Throughput rates = row.record.throughput();
    const std::optional<ErrorBar>& bar = row.record.bar;
    table.rows.push_back(
        {row.machine, fmt::to_string(row.record.devices()), row.record.point.model.name,
         label_with_value(row), short_number(rates.tokens_per_s),
         short_number(rates.tokens_per_s_per_device), efficiency_cell(scaling[i]),
         short_number(rates.days_per_trillion_tokens),
         short_number(rates.device_hours_per_trillion_tokens),
         quantile_cell(row.record, &StepSpread::p90), quantile_cell(row.record, &StepSpread::p99),
         bar ? fmt::format("{} of {}, {}", bar->runs, bar->sources, bar->like) : "-"});
  }
  return format(table, width) + '\n';
}

std::string mean_of(const std::vector<double>& values, const char* unit) {
  if (values.empty()) return "-";
  double sum = 0.0;
  for (double value : values) sum += value;
  return fmt::format("{:.2f}{}", sum / static_cast<double>(values.size()), unit);
}

std::string machine_table(const Study& study) {
  TextTable table;
  table.columns = {{"machine", "", Align::left},
                   {"rows", "compared"},
                   {"mean |dev.|", "%"},
                   {"worst", "%"},
                   {"Kendall tau", "of grids"},
                   {"first choice", "slower by, %"},
                   {"grids", "simulated"},
                   {"candidates", "tried"},
                   {"rejected", "by reason", Align::left, 1}};
  bool ordered_any = false, compared_any = false;
  for (const std::string& machine : machines(study)) {
    std::vector<double> deviations, taus, regrets;
    double worst = 0.0;
    std::int64_t tried = 0;
    std::size_t simulated = 0;
    std::map<std::string, std::int64_t> rejected;
    for (const StudyRow& row : study.rows) {
      if (row.machine != machine) continue;
      if (row.repetition > 1) continue;  // one published run is one row
      if (const auto deviation = row.deviation()) {
        deviations.push_back(100.0 * std::abs(*deviation));
        if (std::abs(*deviation) > std::abs(worst)) worst = *deviation;
      }
      if (row.record.tau) taus.push_back(*row.record.tau);
      if (row.record.regret) regrets.push_back(100.0 * *row.record.regret);
      tried += row.record.tried;
      simulated += row.record.simulated.size();
      ordered_any = ordered_any || row.record.tau;
      for (const auto& [reason, count] : row.record.rejected) rejected[reason] += count;
    }
    std::vector<std::string> reasons;
    for (const auto& [reason, count] : rejected) {
      reasons.push_back(fmt::format("{} {}", reason, count));
    }
    compared_any = compared_any || !deviations.empty();
    table.rows.push_back({machine, deviations.empty() ? "-" : fmt::to_string(deviations.size()),
                          mean_of(deviations, ""), deviations.empty() ? "-" : signed_percent(worst),
                          mean_of(taus, ""), mean_of(regrets, ""), fmt::to_string(simulated),
                          fmt::to_string(tried), fmt::format("{}", fmt::join(reasons, ", "))});
  }
  std::string text = compared_any ? "Deviation: these seconds against published ones. " : "";
  text += "Candidates: grids and micro-batches.";
  if (ordered_any) {
    text +=
        " Kendall tau: how far the estimate orders grids as the simulation does, from -1 (the "
        "other way round) to 1 (alike). First choice slower by: what the estimate's best grid "
        "takes longer, simulated, than the simulation's best (top-1 regret). Both are means over "
        "points";
    text += compared_any ? " and have nothing to do with what is published." : ".";
  }
  return wrapped(text, page_width) + "\n\n" + format(table);
}

std::string notes(const Study& study) {
  std::set<std::string> conventions;
  std::map<std::string, std::set<std::int64_t>> vocabularies;
  bool derived = false, capped = false, simulated = false;
  std::int64_t left_out = 0;
  for (const StudyRow& row : study.rows) {
    conventions.insert(
        model_flops_convention(row.record.point.model, row.record.point.options.recompute));
    vocabularies[row.machine].insert(row.record.point.model.vocabulary);
    derived = derived || row.derived;
    left_out += row.record.left_out;
    capped = capped || row.record.verdict == "capped";
    simulated = simulated || simulates(row.record.fidelity);
  }
  std::vector<std::string> sizes;
  for (const auto& [machine, numbers] : vocabularies) {
    sizes.push_back(fmt::format("{} {}", machine, fmt::join(numbers, " and ")));
  }
  const bool compared = std::ranges::any_of(
      study.rows, [](const StudyRow& row) { return row.published || row.published_rate; });
  std::string text =
      fmt::format("{} {}: {}. Vocabulary: {}.\n", rate_unit(study).name,
                  compared ? "and what is published are model flops" : "are model flops",
                  fmt::join(conventions, "; "), fmt::join(sizes, ", "));
  text += wrapped(throughput_conventions, page_width) + '\n';
  text += wrapped(fmt::format("{:.0f} % bar: where a run would lie, by runs like it that were "
                              "measured and by the platform's unconfirmed numbers "
                              "(docs/accuracy.md).",
                              100.0 * error_bar_level),
                  page_width) +
          '\n';
  if (compares_systems(study)) return wrapped(text, page_width);
  if (!simulated) text += "All seconds are estimated, none simulated.\n";
  if (simulated && ranks_grids(study)) {
    text +=
        "Ten best grids: least to most seconds of the ten grids with the best estimates; those not "
        "simulated count as estimate x\nsimulated / estimated of the chosen grid.\n";
  }
  if (std::ranges::any_of(study.rows,
                          [](const StudyRow& row) { return row.record.uniform.has_value(); })) {
    text +=
        "Where a what-if tells ranks or links apart, grids are chosen, ranked and compared without "
        "it; batch and all that\nfollows from it are with it.\n";
  }
  if (!study.rows.empty() && !study.rows.front().record.system.empty()) {
    text += fmt::format("System: {}.\n", system_label(study.rows.front().record));
  }
  if (compared && !study.published_source.empty())
    text += "Published: " + study.published_source + ".\n";
  if (!study.unmatched.empty()) {
    const auto first = study.unmatched.begin();
    const auto few = first + std::min<std::ptrdiff_t>(3, std::ssize(study.unmatched));
    text += fmt::format("Published rows that are no point of this campaign: {}, such as {}.\n",
                        study.unmatched.size(), fmt::join(first, few, "; "));
  }
  if (derived) text += "* derived from the published flop/s with the model flops above.\n";
  if (capped) {
    text += "^ the limit on simulated grids was reached while the next estimate could still win.\n";
  }
  if (left_out > 0) {
    text +=
        fmt::format("{} grids were left out because their simulation took too long.\n", left_out);
  }
  return wrapped(text, page_width);
}

}  // namespace

std::string study_table(const Study& study, Width width) {
  if (compares_systems(study)) {
    return study.title + "\n\n" + system_table(study, width) + '\n' + memory_table(study, width) +
           notes(study);
  }
  const std::string choices = study.rows.size() == 1 ? choices_of_systems(study) : "";
  return study.title + "\n\n" + format(main_table(study), width) + '\n' + notes(study) + choices +
         '\n' + throughput_table(study, width) + memory_table(study, width) + machine_table(study);
}

std::string study_latex(const Study& study) {
  return latex(compares_systems(study) ? system_rows(study) : main_table(study));
}

namespace {

std::string number(double value) {
  return fmt::format("{:.9g}", value);
}

// Without commas, which separate cells.
std::string spaced(const ProcessGrid& grid) {
  std::string text = grid.str();
  std::ranges::replace(text, ',', ' ');
  return text;
}

template <typename Value>
std::string number_or_nothing(const std::optional<Value>& value) {
  return value ? number(value->value) : "";
}

}  // namespace

std::string study_csv(const Study& study) {
  std::string text =
      "machine,devices,model,vocabulary,fidelity,grid,micro_batches,best_grids_least_s,"
      "best_grids_most_s,batch_s,model_flop,flop_per_s,ideal_flop_per_s,of_advertised_peak,"
      "of_empirical_peak,exposed_share,memory_B,memory_limit_B,compute_s,exposed_x_s,exposed_y_s,"
      "exposed_z_s,exposed_data_s,estimated_s,kendall_tau,top1_regret,grids_simulated,"
      "published_batch_s,published_is_derived,published_flop_per_s,deviation,"
      "exposed_pipe_s,bubble_s,other_s,system,given,mfu,hfu,tokens_per_s,tokens_per_s_per_device,"
      "days_per_trillion_tokens,device_hours_per_trillion_tokens,bar_low_s,bar_high_s,bar_runs,"
      "bar_sources,series,label,value,repetition,batch_sequences,batch_tokens,bar_like,"
      "model_flop_convention,p90_s,p99_s,chance_to_fit\n";
  const std::vector<Speedup> scaling = speedups(study);
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const StudyRow& row = study.rows[i];
    const Record& record = row.record;
    const Spread best = spread(record);
    const Throughput rates = record.throughput();
    const std::vector<TimePart> parts = time_parts(record.outcome);
    const auto part = [&](const char* called) {
      return number(std::ranges::find(parts, called, &TimePart::name)->seconds.value);
    };
    const auto exposed = [&](Axis axis) {
      return number(record.outcome.exposed_along(axis).value);
    };
    const auto optional_number = [](const std::optional<double>& value) {
      return value ? number(*value) : std::string();
    };
    const std::vector<std::string> cells{
        csv_cell(row.machine),
        fmt::to_string(record.devices()),
        csv_cell(record.point.model.name),
        fmt::to_string(record.point.model.vocabulary),
        name(record.fidelity),
        spaced(record.point.grid),
        fmt::to_string(record.point.options.micro_batches),
        number(best.least.value),
        number(best.most.value),
        number(record.seconds().value),
        number(record.model_flops.value),
        number(record.rate().value),
        number(scaling[i].ideal_rate.value),
        number(record.of_advertised()),
        number(record.of_empirical()),
        number(record.exposed_share()),
        number(record.memory.value),
        number(record.memory_limit.value),
        number(record.outcome.compute.value),
        exposed(Axis::x),
        exposed(Axis::y),
        exposed(Axis::z),
        exposed(Axis::data),
        number(record.estimated.value),
        optional_number(record.tau),
        optional_number(record.regret),
        fmt::to_string(record.simulated.size()),
        number_or_nothing(row.published),
        row.published ? (row.derived ? "1" : "0") : "",
        number_or_nothing(row.published_rate),
        optional_number(row.deviation()),
        part("messages"),
        part("bubble"),
        part("other"),
        record.system.empty() ? "" : system_label(record),
        row.given ? "1" : "0",
        number(rates.mfu),
        number(rates.hfu),
        number(rates.tokens_per_s),
        number(rates.tokens_per_s_per_device),
        number(rates.days_per_trillion_tokens),
        number(rates.device_hours_per_trillion_tokens),
        record.bar ? number(record.seconds().value * (1.0 + record.bar->low)) : "",
        record.bar ? number(record.seconds().value * (1.0 + record.bar->high)) : "",
        record.bar ? fmt::to_string(record.bar->runs) : "",
        record.bar ? fmt::to_string(record.bar->sources) : "",
        csv_cell(scaling[i].series),
        csv_cell(row.label),
        optional_number(row.value),
        fmt::to_string(row.repetition),
        fmt::to_string(record.point.global_batch),
        fmt::to_string(record.point.global_batch * record.point.model.sequence),
        record.bar ? '"' + csv_cell(record.bar->like) + '"' : "",
        '"' + model_flops_convention(record.point.model, record.point.options.recompute) + '"',
        record.varies ? number(record.seconds().value * record.varies->p90) : "",
        record.varies ? number(record.seconds().value * record.varies->p99) : "",
        optional_number(record.chance_to_fit)};
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

}  // namespace fourfold::inline scaling::inline study
