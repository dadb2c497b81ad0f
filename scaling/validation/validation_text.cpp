// Tables of rows and of statistics; see validation_text.hpp.
#include "scaling/validation/validation_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scaling/validation/memory_text.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline validation {
namespace {

constexpr const char* mark_meanings =
    "m: needs more memory than the model of the machine leaves; o: projected without an option of "
    "the run that this version lacks; s: another machine stands in; i: in sample; b: the grid was "
    "not published, the best one found is shown.";

std::string marks(const CaseResult& result) {
  std::string letters;
  if (result.projection->memory > result.projection->memory_limit) letters += 'm';
  if (!result.one.unsaid.empty()) letters += 'o';
  if (!result.one.stand_in.empty()) letters += 's';
  if (!result.one.in_sample.empty()) letters += 'i';
  if (!result.one.question.grid && result.one.measured == Measured::step) letters += 'b';
  return letters;
}

// Of layers, too, which take milliseconds.
std::string seconds_text(Seconds seconds) {
  return fmt::format("{:.{}f}", seconds.value, seconds.value < 0.1 ? 4 : 2);
}

std::string rows_text(const SetResult& result) {
  TextTable table;
  table.columns = {{"row", "", Align::left}, {"platform", "", Align::left},
                   {"devices", ""},          {"grid", "", Align::left},
                   {"micro-", "batches"},    {"recompute", "", Align::left},
                   {"published", "s"},       {"projected", "s"},
                   {"deviation", "%"},       {"", "", Align::left}};
  std::string study;
  for (const CaseResult& one : result.cases) {
    // What is known of memory alone has a table of its own.
    if (!one.projection || (one.one.memory && !one.one.is_published())) continue;
    if (one.one.study != study && !table.rows.empty()) table.rows.emplace_back();
    study = one.one.study;
    const Projection& projection = *one.projection;
    table.rows.push_back(
        {one.one.id, one.one.question.platform, fmt::to_string(one.one.question.devices),
         projection.grid.str(), fmt::to_string(projection.micro_batches),
         name(one.one.question.options.recompute),
         one.one.is_published() ? seconds_text(one.one.published) : "-",
         seconds_text(projection.outcome.total),
         one.one.is_published() ? signed_percent(one.deviation()) : "-", marks(one)});
  }
  return table.rows.empty() ? "" : format(table) + wrapped(mark_meanings) + '\n';
}

// Equal sentences once, with what they are about.
class Grouped {
 public:
  void add(const std::string& sentence, const std::string& item) {
    for (auto& [known, items] : groups_) {
      if (known != sentence) continue;
      if (items.back() != item) items.push_back(item);
      return;
    }
    groups_.push_back({sentence, {item}});
  }

  std::string text() const {
    std::string text;
    for (const auto& [sentence, items] : groups_) {
      text += wrapped(fmt::format("{}: {}.", sentence, fmt::join(items, ", "))) + '\n';
    }
    return text;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> groups_;
};

std::string remarks_text(const SetResult& result) {
  Grouped left_out, unsaid, stand_ins;
  for (const CaseResult& one : result.cases) {
    if (!one.projection) {
      left_out.add("Not run, " + one.why_not, one.one.id);
      continue;
    }
    for (const std::string& option : one.one.unsaid) {
      unsaid.add("Projected without " + option, one.one.study);
    }
    if (!one.one.stand_in.empty()) {
      stand_ins.add("Stand-in, " + one.one.stand_in, one.one.study);
    }
  }
  return left_out.text() + unsaid.text() + stand_ins.text();
}

std::vector<std::string> statistics_row(const SetResult& result, const std::string& label,
                                        const std::vector<std::size_t>& cases, std::size_t held) {
  const Deviations found = deviations_of_cases(result, cases);
  std::vector<std::string> row{label, fmt::format("{} of {}", found.count, held)};
  if (found.count == 0) {
    row.resize(8, "-");
    return row;
  }
  const CaseResult& worst = result.cases[found.worst];
  row.insert(row.end(),
             {percent(found.mean_absolute), signed_percent(found.bias), percent(found.median),
              percent(found.ninetieth), signed_percent(worst.deviation()), worst.one.id});
  return row;
}

std::size_t held(const SetResult& result, const std::string& study, SampleSide sample) {
  return static_cast<std::size_t>(
      std::count_if(result.cases.begin(), result.cases.end(), [&](const CaseResult& one) {
        return one.one.is_published() && (study.empty() || one.one.study == study) &&
               one.one.in_sample.empty() == (sample == SampleSide::out);
      }));
}

std::string statistics_text(const std::vector<SetResult>& results) {
  TextTable table;
  table.columns = {{"set, study", "", Align::left},
                   {"cases", "run"},
                   {"mean |dev.|", "%"},
                   {"bias", "%"},
                   {"median", "|dev.|, %"},
                   {"90th pct.", "|dev.|, %"},
                   {"worst", "%"},
                   {"worst row", "", Align::left}};
  for (const SetResult& result : results) {
    const bool of_memory_alone = std::ranges::none_of(
        result.cases, [](const CaseResult& one) { return one.one.is_published(); });
    if (of_memory_alone) continue;
    if (!table.rows.empty()) table.rows.emplace_back();
    const auto add = [&](const std::string& label, const std::string& study, SampleSide sample) {
      const std::size_t count = held(result, study, sample);
      if (count == 0) return;
      table.rows.push_back(
          statistics_row(result, label, cases_that_ran(result, study, sample), count));
    };
    add(result.set.name + ", out of sample", "", SampleSide::out);
    add(result.set.name + ", in sample", "", SampleSide::in);
    for (const std::string& study : studies(result)) {
      add("  " + study, study, SampleSide::out);
      add("  " + study + ", in sample", study, SampleSide::in);
    }
  }
  return table.rows.empty() ? "" : format(table) + '\n';
}

std::string rankings_text(const std::vector<SetResult>& results) {
  TextTable table;
  table.columns = {{"ranking", "", Align::left},     {"rows", ""},
                   {"configurations", ""},           {"tau", ""},
                   {"first choice", "slower by, %"}, {"gains off", "by, points"},
                   {"first row", "", Align::left}};
  for (const SetResult& result : results) {
    for (const Ranking& ranking : rankings(result)) {
      table.rows.push_back({ranking.study, fmt::to_string(ranking.ids.size()),
                            fmt::to_string(ranking.configurations),
                            fmt::format("{:.2f}", ranking.tau), percent(ranking.regret),
                            percent(ranking.gain_difference), ranking.ids.front()});
    }
  }
  if (table.rows.empty()) return "";
  return "\nConfigurations of one model, devices and batch, in the order measured and "
         "projected:\n" +
         format(table) +
         wrapped(
             "Tau (Kendall's): 1 where the projected order is the measured one, -1 where it is the "
             "other way round. First choice: what is projected fastest, against what is measured "
             "fastest, as measured. Gains: of each configuration over the next slower one as "
             "measured; the largest "
             "difference of a projected gain from the published one.") +
         '\n';
}

std::string bounds_text(const SetResult& result) {
  std::string text = result.set.name + ": ";
  text += result.set.bound
              ? fmt::format("bound {:g} % over at least {}, by the estimate",
                            100.0 * *result.set.bound, counted(result.set.least_cases, "case"))
          : result.set.memory_bound ? fmt::format("bound {:g} % on memory over at least {}",
                                                  100.0 * *result.set.memory_bound,
                                                  counted(result.set.least_cases, "peak"))
                                    : "no bound is recorded";
  if (!result.set.in_sample.empty()) text += "; " + result.set.in_sample;
  return wrapped(text + '.') + '\n';
}

}  // namespace

std::string validation_text(const std::vector<SetResult>& results) {
  std::string text, bounds, memory;
  for (const SetResult& result : results) {
    text += fmt::format("{} ({}), {}\n\n{}{}{}\n", result.set.title, result.set.name,
                        name(result.fidelity), rows_text(result), memory_rows_text(result),
                        remarks_text(result));
    bounds += bounds_text(result);
    memory += memory_statistics_text(result);
  }
  return text + "Deviation is projected / published - 1; bias is its mean.\n\n" +
         statistics_text(results) + memory + bounds + rankings_text(results);
}

}  // namespace fourfold::inline scaling::inline validation
