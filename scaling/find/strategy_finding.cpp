// The search with its progress, then the shares; see strategy_finding.hpp.
#include "scaling/find/strategy_finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "platforms/device_memory.hpp"
#include "scaling/jobs/interrupt.hpp"
#include "schedule/program/without_effect.hpp"
#include "sim/conditions/conditions.hpp"
#include "sim/conditions/idle_scales.hpp"
#include "support/field.hpp"
#include "support/shell_word.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

// Those with more than one entry, as numbers in the list of factors.
std::vector<std::size_t> open_choices(const std::vector<Factor>& factors) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (factors[i].words.size() > 1) open.push_back(i);
  }
  if (open.empty()) {
    throw std::runtime_error(
        "--influence cannot take effect: the space leaves nothing open; give an option several "
        "words, such as --zero 0,1");
  }
  if (open.size() > most_choices) {
    throw std::runtime_error(
        fmt::format("--influence looks at every set of choices, of at most {}; the space leaves {} "
                    "open",
                    most_choices, open.size()));
  }
  return open;
}

Influences influences_of(const StrategyAnswer& answer) {
  const std::vector<std::size_t> open = open_choices(answer.factors);
  Influences result;
  Observations whole;
  for (std::size_t i : open) {
    result.factors.push_back(answer.factors[i]);
    whole.choices.push_back(static_cast<std::int32_t>(answer.factors[i].words.size()));
  }
  Observations feasible{whole.choices, {}, {}};
  const std::vector<double>& rates = answer.visited.rates;
  for (std::size_t n = 0; n < rates.size(); ++n) {
    const auto of = [&](std::size_t i) {
      return answer.visited.places[n * answer.factors.size() + i];
    };
    for (std::size_t i : open) whole.places.push_back(of(i));
    whole.values.push_back(rates[n]);
    if (rates[n] == 0.0) continue;
    for (std::size_t i : open) feasible.places.push_back(of(i));
    feasible.values.push_back(rates[n]);
  }
  result.whole = influence(whole);
  result.feasible = influence(feasible);
  return result;
}

}  // namespace

std::vector<std::size_t> Influences::by_share() const {
  std::vector<std::size_t> order(factors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return whole.shapley[i]; });
  return order;
}

StrategyFinding find_strategies(const StrategyQuestion& question, const StrategyWish& wish,
                                const std::function<void(const std::string&, double)>& watch) {
  StrategyFinding finding;
  finding.question = question;
  finding.platform =
      read_platform(question.pattern.platform, question.pattern.scales, question.pattern.software);
  finding.answer = search_strategies(
      question.pattern, finding.platform, question.space, wish,
      [&](std::int64_t done, std::int64_t all) {
        stop_if_interrupted();
        watch(fmt::format("estimated {} of {} strategies", done, all),
              static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(all, 1)));
      });
  if (!finding.answer.best.empty()) {
    finding.bar = error_bar(point_of(question, finding.answer.best.front()));
  }
  if (wish.thoroughness == Thoroughness::all) finding.influences = influences_of(finding.answer);
  return finding;
}

Point point_of(const StrategyQuestion& question, const Strategy& strategy) {
  Point point = question.pattern;
  point.grid = strategy.grid;
  point.global_batch = strategy.global_batch;
  point.options = strategy.options;
  return point;
}

Question question_of(const StrategyQuestion& question, const Strategy& strategy) {
  const Point point = point_of(question, strategy);
  Question one;
  one.platform = point.platform;
  one.scales = point.scales;
  one.software = point.software;
  one.model = point.model;
  one.devices = point.grid.size();
  one.global_batch = point.global_batch;
  one.options = point.options;
  one.what_ifs = point.what_ifs;
  one.grid = point.grid;
  one.micro_batches = strategy.micro_batches();
  one.memory_risk = question.space.memory_risk;
  return one;
}

namespace {

// What a flag has to say for the options: empty where others leave it nothing to do.
std::string word_to_type(const StepOptions& options, const std::string& flag) {
  FieldValues values = step_fields().values(options);
  for (const FieldFacts& field : step_fields().facts()) {
    if (field.flag != flag || !why_without_effect(field.key, options)) continue;
    if (!std::holds_alternative<bool>(values.at(field.key))) return "";
    values[field.key] = false;
  }
  return flag_word(step_fields().facts(), flag, values);
}

}  // namespace

std::string project_command(const StrategyQuestion& question, const Strategy& strategy,
                            const std::map<std::string, std::string>& instead) {
  const Point& pattern = question.pattern;
  const Point point = point_of(question, strategy);
  const Platform platform = read_platform(point.platform, point.scales, point.software);
  std::string text = fmt::format("fourfold project --platform {} {}",
                                 shell_argument(pattern.platform), question.model_flags);
  const auto add = [&](const std::string& flag, const std::string& word, const std::string& usual) {
    if (word.empty() || word == usual || instead.contains(flag)) return;
    text += fmt::format(" {} {}", flag, shell_argument(word));
  };
  add("--grid", strategy.grid.str(), "");
  add("--micro-batches", std::to_string(strategy.micro_batches()), "");
  add("--batch-tokens", std::to_string(strategy.global_batch * pattern.model.sequence), "");
  for (const std::string& flag : flags_of(step_fields().facts())) {
    if (flag == "--micro-batches") continue;
    // Its default is the software's.
    const bool of_software =
        flag == "--attention" &&
        (!pattern.software.empty() || platform.software.attention == AttentionSoftware::unfused);
    add(flag, word_to_type(strategy.options, flag),
        of_software ? "" : step_fields().word({}, flag));
  }
  add("--software", pattern.software, "");
  add("--memory-risk", fmt::to_string(question.space.memory_risk),
      fmt::to_string(usual_memory_risk));
  // Others of the space may have had a use for what-ifs that this one has none for.
  const std::vector<std::string> idle = idle_scales(point, platform);
  for (const auto& [key, factor] : pattern.scales) {
    if (std::ranges::count(idle, key) == 0) text += fmt::format(" --scale {}={}", key, factor);
  }
  const CollectiveTuning& tuning = pattern.what_ifs.collective;
  if (tuning.algorithm && idle_tuning(point, platform).empty()) {
    add("--collective", name(tuning), "");
  }
  for (const auto& [flag, word] : instead) {
    if (!word.empty()) text += fmt::format(" {} {}", flag, shell_argument(word));
  }
  return text;
}

}  // namespace fourfold::inline scaling::inline find
