// Tables of strategies, refusals and shares; see strategy_text.hpp.
#include "scaling/text/strategy_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "platforms/device_memory.hpp"
#include "scaling/records/open_options.hpp"
#include "scaling/words/amounts.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "scaling/words/throughput_text.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline text {
namespace {

std::string gigabytes(Bytes bytes) {
  return fmt::format("{:.1f} GB", bytes.value / 1e9);
}

// Options that decide much and that nobody lists.
std::string same_for_all(const StrategyFinding& finding) {
  std::vector<std::string> words;
  for (const std::string& flag : open_option_flags()) {
    const auto& lists = finding.question.space.options;
    const bool listed =
        std::ranges::any_of(lists, [&](const auto& one) { return one.flag == flag; });
    if (listed) continue;
    words.push_back(flag + ' ' + step_fields().word(finding.question.pattern.options, flag));
  }
  if (words.empty()) return "";
  return wrapped(fmt::format("All of them with {}; a list of words searches an option.",
                             fmt::join(words, " "))) +
         '\n';
}

std::string headline(const StrategyFinding& finding) {
  const Point& pattern = finding.question.pattern;
  std::vector<std::string> devices;
  for (std::int64_t count : finding.question.space.devices)
    devices.push_back(std::to_string(count));
  std::string text = finding.question.title.empty() ? "" : finding.question.title + '\n';
  text += fmt::format("{} on {} devices of {}\n{}\n", pattern.model.name, fmt::join(devices, ", "),
                      pattern.platform, finding.platform.title);
  text += fmt::format("Software {}.\n", finding.platform.software.name) + same_for_all(finding);
  for (const auto& [key, factor] : pattern.scales) {
    text += fmt::format("What if: {} times {:g}.\n", key, factor);
  }
  for (const std::string& sentence : sentences(pattern.what_ifs, 0)) {
    text += wrapped(fmt::format("What if: {}.", sentence)) + '\n';
  }
  if (makes_its_batch(finding.question.space)) {
    return text + fmt::format(
                      "Batches of {} tokens a sequence as the micro-batches make them, "
                      "vocabulary {}.\n",
                      pattern.model.sequence, pattern.model.vocabulary);
  }
  return text + fmt::format("Global batch {} of {} tokens, vocabulary {}.\n",
                            counted(pattern.global_batch, "sequence"), pattern.model.sequence,
                            pattern.model.vocabulary);
}

// What the grid and the micro-batches do not tell.
bool is_option(const StrategyAnswer& answer, std::size_t factor) {
  constexpr std::array others{"devices",      "x", "y", "z", "pipe", "micro-batch-size",
                              "micro-batches"};
  const Factor& of = answer.factors[factor];
  return of.words.size() > 1 && std::ranges::find(others, of.name) == others.end();
}

// By flop/s a device: batches may differ.
bool ties_with_best(const StrategyFinding& finding, const Strategy& strategy) {
  const Strategy& best = finding.answer.best.front();
  return &strategy != &best && finding.bar && best.rate / strategy.rate - 1.0 < finding.bar->tie;
}

std::string best_table(const StrategyFinding& finding, Width width) {
  const StrategyAnswer& answer = finding.answer;
  TextTable table;
  table.columns = {
      {"", ""}, {"grid", "", Align::left}, {"micro-batch", "sequences"}, {"micro-", "batches"}};
  const bool of_several = finding.question.space.devices.size() > 1;
  if (of_several) table.columns.insert(table.columns.begin() + 1, {"devices", ""});
  for (std::size_t i = 0; i < answer.factors.size(); ++i) {
    if (is_option(answer, i)) table.columns.push_back({answer.factors[i].name, "", Align::left});
  }
  table.columns.insert(table.columns.end(), {{"estimated", "s"},
                                             {"Tflop/s", "a device"},
                                             {"MFU", "%", Align::right, 1},
                                             {"memory", "GB"},
                                             {"fits", "%"},
                                             {"alike", ""},
                                             {"", "", Align::left}});
  const double peak = finding.platform.processor.advertised_peak.value;
  for (const Strategy& strategy : answer.best) {
    std::vector<std::string> row{std::to_string(table.rows.size() + 1)};
    if (of_several) row.push_back(std::to_string(strategy.grid.size()));
    row.push_back(strategy.grid.str());
    row.push_back(std::to_string(strategy.micro_batch_size()));
    row.push_back(std::to_string(strategy.micro_batches()));
    for (std::size_t i = 0; i < answer.factors.size(); ++i) {
      if (is_option(answer, i)) row.push_back(strategy.words[i]);
    }
    row.push_back(seconds_text(strategy.seconds, answer.best.front().seconds));
    row.push_back(fmt::format("{:.1f}", strategy.rate.value / 1e12));
    row.push_back(percent(strategy.rate.value / peak));
    row.push_back(fmt::format("{:.1f}", strategy.memory.value / 1e9));
    row.push_back(chance_cell(chance_to_fit(strategy.memory, finding.platform)));
    row.push_back(strategy.alike == 0 ? "" : fmt::format("+{}", strategy.alike));
    row.push_back(ties_with_best(finding, strategy) ? "tie" : "");
    table.rows.push_back(std::move(row));
  }
  return format(table, width);
}

std::string described(const Strategy& strategy, const StrategyAnswer& answer) {
  std::string text = fmt::format("grid {}, {} of {}", strategy.grid.str(),
                                 counted(strategy.micro_batches(), "micro-batch"),
                                 counted(strategy.micro_batch_size(), "sequence"));
  for (std::size_t i = 0; i < answer.factors.size(); ++i) {
    if (is_option(answer, i))
      text += fmt::format(", {} {}", answer.factors[i].name, strategy.words[i]);
  }
  return text;
}

std::string best_part(const StrategyFinding& finding, Width width) {
  const StrategyAnswer& answer = finding.answer;
  if (answer.best.empty()) return "No strategy of the space can run.\n";
  std::string text =
      fmt::format("The {} best by estimate:\n", answer.best.size()) + best_table(finding, width);
  if (std::ranges::any_of(answer.best, [](const Strategy& one) { return one.alike > 0; })) {
    text += "alike: further strategies of that grid that take the same time.\n";
  }
  if (finding.bar) text += tie_text(*finding.bar);
  text += wrapped(
      "Flop/s are those of the model without recompute (Narayanan et al. SC21 eq. 3): work done "
      "twice is time and no merit.\n");
  const Strategy& best = answer.best.front();
  text += "\nThe first of them:\n";
  if (finding.bar) text += error_bar_text(*finding.bar, best.seconds);
  text += throughput_text(throughput(point_of(finding.question, best), best.seconds,
                                     finding.platform.processor.advertised_peak));
  return text + "\nThe first of them alone:\n  " +
         project_command(finding.question, answer.best.front()) + '\n';
}

std::string what_cannot(const StrategyAnswer& answer, Width width) {
  TextTable table;
  table.columns = {{"strategies", ""}, {"", "", Align::left}};
  const auto add = [&](std::int64_t count, const std::string& what) {
    if (count > 0) table.rows.push_back({std::to_string(count), what});
  };
  for (const Refusal& refusal : answer.refused)
    add(refusal.strategies, "refused by " + refusal.rule);
  add(answer.out_of_memory, "out of memory");
  add(answer.beaten, "cannot be among the best: a lower bound of their time says so");
  add(answer.feasible, answer.beaten > 0 ? "estimated" : "can run");
  table.rows.emplace_back();
  add(answer.strategies, "in the space");
  std::string text = format(table, width);
  for (const Refusal& refusal : answer.refused) {
    text += wrapped(fmt::format("{}, such as: {}.", refusal.rule, refusal.example)) + '\n';
  }
  if (answer.closest) {
    text +=
        wrapped(fmt::format("memory, at best: {}, needs {} of the usable {}: {:.1f} % too much.",
                            described(*answer.closest, answer), gigabytes(answer.closest->memory),
                            gigabytes(answer.memory_limit),
                            100.0 * (answer.closest->memory / answer.memory_limit - 1.0))) +
        '\n';
  }
  return text;
}

// The word with the highest mean of those that can run.
std::string best_on_average(const Factor& factor, const std::vector<double>& means) {
  std::size_t best = means.size();
  for (std::size_t i = 0; i < means.size(); ++i) {
    if (std::isnan(means[i])) continue;
    if (best == means.size() || means[i] > means[best]) best = i;
  }
  if (best == means.size()) return "-";
  return fmt::format("{} ({:.1f})", factor.words[best], means[best] / 1e12);
}

std::string influence_table(const Influences& found, Width width) {
  TextTable table;
  table.columns = {{"choice", "", Align::left},
                   {"entries", ""},
                   {"share", "%"},
                   {"alone", "%"},
                   {"best mean", "Tflop/s", Align::left},
                   {"share", "%, where it runs"},
                   {"alone", "%"},
                   {"best mean", "Tflop/s", Align::left}};
  for (std::size_t i : found.by_share()) {
    const auto part = [&](const std::vector<double>& shares) {
      return percent(std::max(shares[i], 0.0));
    };
    table.rows.push_back({found.factors[i].name, std::to_string(found.factors[i].words.size()),
                          part(found.whole.shapley), part(found.whole.alone),
                          best_on_average(found.factors[i], found.whole.means[i]),
                          part(found.feasible.shapley), part(found.feasible.alone),
                          best_on_average(found.factors[i], found.feasible.means[i])});
  }
  const auto spread = [](const Influence& of) {
    return fmt::format("{:.1f} +- {:.1f} Tflop/s a device", of.mean / 1e12,
                       std::sqrt(of.variance) / 1e12);
  };
  return "How much each choice matters: Shapley shares of the variance of flop/s a device\n" +
         format(table, width) +
         wrapped(fmt::format(
             "Left with 0 flop/s for what is out of memory ({}), right over what can run ({}). "
             "share: a choice's part of the variance, with what several choices do together split "
             "evenly; shares sum to 100. alone: what the choice explains by itself. best mean: the "
             "entry with the highest mean over all others' choices.",
             spread(found.whole), spread(found.feasible))) +
         '\n';
}

}  // namespace

std::string strategy_text(const StrategyFinding& finding, Width width) {
  std::string text = headline(finding) + '\n' + best_part(finding, width) + '\n' +
                     what_cannot(finding.answer, width);
  if (finding.influences) text += '\n' + influence_table(*finding.influences, width);
  return text;
}

}  // namespace fourfold::inline scaling::inline text
