// Findings as options, and the choice among them; see advice.hpp.
#include "scaling/find/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scaling/records/open_options.hpp"
#include "scaling/records/record_json.hpp"
#include "schedule/models/parameter_count.hpp"
#include "support/json_object.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

constexpr double seconds_a_day = 86'400.0;
constexpr double bytes_a_parameter = 12.0;  // fp32 weight and two fp32 moments

BytesPerSecond rate_of_adapters(const Platform& platform, std::int64_t nodes) {
  BytesPerSecond of_node;
  for (const Nic& nic : platform.node.nics) of_node += nic.bandwidth;
  return of_node * static_cast<double>(nodes);
}

// Ten times as many failures call for another interval. A checkpoint comes after whole steps.
Failures failures_of(CheckpointCost cost, Seconds step) {
  const auto interval = [&] { return std::max(daly_interval(cost), step); };
  Failures failures{cost, interval(), 1.0, 1.0};
  failures.stretch = stretch(cost, failures.interval);
  cost.between_failures = cost.between_failures / 10.0;
  failures.tenfold = stretch(cost, interval());
  return failures;
}

AdviceOption option_of(const Advice& advice, Record record) {
  const Platform& platform = advice.platform;
  AdviceOption option;
  const std::int64_t in_node = platform.node.devices;
  option.nodes = (record.devices() + in_node - 1) / in_node;
  option.step_days = record.throughput().days_per_trillion_tokens * advice.wish.tokens / 1e12;
  const MachineOperation& operation = advice.operation;
  if (operation.node_failures && operation.file_system) {
    const double a_day = operation.node_failures->value * static_cast<double>(option.nodes);
    const BytesPerSecond file_system{operation.file_system->value * 1e9};
    const BytesPerSecond adapters = rate_of_adapters(platform, option.nodes);
    const Seconds write = advice.checkpoint / std::min(file_system, adapters);
    option.failures = failures_of({{seconds_a_day / a_day}, write, advice.wish.restart + write},
                                  record.seconds());
    if (adapters < file_system) option.failures->adapters = adapters;
  }
  if (operation.node_power) {
    option.energy_MWh = option.days() * 24.0 * static_cast<double>(option.nodes) *
                        operation.node_power->value / 1e6;
  }
  option.record = std::move(record);
  return option;
}

// How far an option is beyond what it may take: at most 1 if it holds.
double excess_of(const AdviceOption& option, const AdviceWish& wish) {
  double excess = option.days() / most_days;
  if (wish.deadline_days) excess = std::max(excess, option.days() / *wish.deadline_days);
  if (wish.node_hours) excess = std::max(excess, option.node_hours() / *wish.node_hours);
  return excess;
}

}  // namespace

std::string Advice::reasons() const {
  return fmt::format("{}", fmt::join(refused, "; "));
}

void choose(Advice& advice) {
  const AdviceWish& wish = advice.wish;
  const std::vector<AdviceOption>& options = advice.options;
  double least = INFINITY;
  for (const AdviceOption& option : options) least = std::min(least, option.node_hours());
  const auto badness = [&](const AdviceOption& option) {
    const double excess = excess_of(option, wish);
    // Those that hold come before all that do not.
    constexpr double missed = 1e30;
    if (excess > 1.0) return missed * excess;
    if (wish.deadline_days) return option.node_hours();
    const bool dear = !wish.node_hours && option.node_hours() > worth_of_haste * least;
    return dear ? 1e12 * option.node_hours() : option.days();
  };
  std::vector<std::size_t> order(options.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return badness(options[i]); });
  advice.chosen = order.front();
  advice.holds = excess_of(options[advice.chosen], wish) <= 1.0;
  if (order.size() > 1) advice.second = order[1];
}

std::vector<OtherAdvice> other_advice(const Advice& advice) {
  if (advice.options.empty() || advice.wish.questions.empty()) return {};
  std::vector<std::vector<Granted>> changes;
  for (const AdviceOption& option : advice.options) {
    changes.push_back(granted_changes(option.record));
  }
  std::vector<OtherAdvice> others;
  for (const Granted& one : changes[advice.chosen]) {
    Advice other = advice;
    other.options.clear();  // where it cannot run is no choice
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const auto same = std::ranges::find(changes[i], one.what, &Granted::what);
      if (same == changes[i].end()) continue;
      other.options.push_back(advice.options[i]);
      other.options.back().step_days *= 1.0 + same->change;
    }
    choose(other);
    others.push_back({one, other.options[other.chosen].record.devices()});
  }
  return others;
}

Advice advise(const AdviceWish& wish, const ProgressWatch& watch) {
  const Question& first = wish.questions.front();
  Advice advice;
  advice.wish = wish;
  advice.platform = read_platform(first.platform, first.scales, first.software);
  advice.operation = operation_of(advice.platform);
  advice.checkpoint = {bytes_a_parameter * parameter_count(first.model)};
  const auto count = static_cast<double>(wish.questions.size());
  std::vector<std::int64_t> too_many;
  std::size_t nothing_fits = 0;
  for (std::size_t i = 0; i < wish.questions.size(); ++i) {
    const Question& question = wish.questions[i];
    if (question.devices > advice.platform.devices()) {
      too_many.push_back(question.devices);
      continue;
    }
    const std::string devices = counted(question.devices, "device");
    const auto refuse = [&](const std::exception& error) {
      advice.refused.push_back(fmt::format("{}: {}", devices, error.what()));
    };
    try {
      const Finding finding = find_answer(question, wish.fidelity, wish.rule,
                                          [&](const std::string& activity, double done) {
                                            watch(fmt::format("{}: {}", devices, activity),
                                                  (static_cast<double>(i) + done) / count);
                                          });
      advice.options.push_back(
          option_of(advice, make_record(question, finding, wish.fidelity, wish.rule)));
    } catch (const std::invalid_argument& error) {
      refuse(error);
    } catch (const DoesNotFit& error) {
      ++nothing_fits;
      refuse(error);
    } catch (const FindingFailed& error) {
      refuse(error);
    }
  }
  const bool no_room = nothing_fits > 0 && nothing_fits == advice.refused.size();
  if (!too_many.empty()) {
    advice.refused.push_back(fmt::format("{} devices: too many, {} has {}",
                                         fmt::join(too_many, ", "), advice.platform.name,
                                         advice.platform.devices()));
  }
  if (!advice.options.empty()) {
    choose(advice);
  } else if (!no_room) {
    throw FindingFailed(advice.reasons());
  }
  return advice;
}

namespace {

nlohmann::json json_of(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json json_of(const AdviceOption& option) {
  nlohmann::json object{{"record", parse_json(to_json(option.record), "the record")},
                        {"nodes", option.nodes},
                        {"days_without_failures", option.step_days},
                        {"days", option.days()},
                        {"node_hours", option.node_hours()},
                        {"energy_MWh", json_of(option.energy_MWh)}};
  if (option.failures) {
    const Failures& failures = *option.failures;
    object["failures"] = {{"between_failures_s", failures.cost.between_failures.value},
                          {"checkpoint_write_s", failures.cost.write.value},
                          {"checkpoint_limit", failures.adapters ? "adapters" : "file system"},
                          {"restart_s", failures.cost.restart.value},
                          {"young_interval_s", young_interval(failures.cost).value},
                          {"daly_interval_s", daly_interval(failures.cost).value},
                          {"interval_s", failures.interval.value},
                          {"stretch", failures.stretch},
                          {"stretch_with_tenfold_failures", failures.tenfold}};
  }
  return object;
}

nlohmann::json json_of(const std::optional<Fact>& fact) {
  if (!fact) return {};
  return {{"value", fact->value}, {"source", fact->source}, {"unconfirmed", fact->unconfirmed}};
}

}  // namespace

nlohmann::json json_of(const Advice& advice) {
  nlohmann::json options = nlohmann::json::array();
  for (const AdviceOption& option : advice.options) options.push_back(json_of(option));
  nlohmann::json granted = nlohmann::json::array();
  for (const auto& [with, devices] : other_advice(advice)) {
    granted.push_back({{"what", with.what}, {"change", with.change}, {"devices", devices}});
  }
  const bool any = !advice.options.empty() && !advice.wish.questions.empty();
  return {{"format", "fourfold-advice-1"},
          {"tokens", advice.wish.tokens},
          {"deadline_days", json_of(advice.wish.deadline_days)},
          {"node_hours", json_of(advice.wish.node_hours)},
          {"checkpoint_bytes", advice.checkpoint.value},
          {node_power_key, json_of(advice.operation.node_power)},
          {node_failures_key, json_of(advice.operation.node_failures)},
          {file_system_key, json_of(advice.operation.file_system)},
          {"holds", advice.holds},
          {"chosen", options.empty() ? nlohmann::json() : nlohmann::json(advice.chosen)},
          {"second", advice.second ? nlohmann::json(*advice.second) : nlohmann::json()},
          {"chosen_flags", any ? chosen_flags(advice.wish.questions.front(),
                                              advice.options[advice.chosen].record.point.options)
                               : ""},
          {"granted", granted},
          {"options", options},
          {"refused", advice.refused}};
}

}  // namespace fourfold::inline scaling::inline find
