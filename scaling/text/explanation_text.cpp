// Tables of an explanation; see explanation_text.hpp.
#include "scaling/text/explanation_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scaling/text/detail_text.hpp"
#include "scaling/words/amounts.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "sim/cost/protocol.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline text {
namespace {

constexpr std::size_t names_shown = 2;
constexpr double rounding = 1e-9;  // of a step: a part that small is none

std::string milliseconds(Seconds time) {
  return fmt::format("{:.3f}", time.value * 1e3);
}

// 12, or 0.14 where it is no whole number.
std::string count_text(double count) {
  const double whole = std::round(count);
  return std::abs(count - whole) < 1e-6 ? fmt::format("{:.0f}", whole)
                                        : fmt::format("{:.2f}", count);
}

// 12.3 MB as "12.3", 4 bytes as "4.0e-06".
std::string megabytes(Bytes bytes) {
  const double mega = bytes.value / 1e6;
  return mega < 0.01 ? fmt::format("{:.1e}", mega) : fmt::format("{:.2f}", mega);
}

std::string critical_path(const Explanation& explanation) {
  TextTable table;
  table.columns = {{"the critical path", "", Align::left}, {"time", "s"}, {"of step", "%"}};
  const Seconds total = explanation.outcome.total;
  for (const auto& [part, time] : explanation.parts()) {
    if (std::abs(time / total) < rounding) continue;
    table.rows.push_back({part, seconds_text(time, total), percent(time / total)});
  }
  table.rows.emplace_back();
  table.rows.push_back({"one step", seconds_text(total), "100.0"});
  return format(table);
}

std::string channel_name(const Explanation& explanation, std::size_t channel) {
  return name(explanation.outcome.channels.at(channel));
}

std::string channels(const Explanation& explanation) {
  const auto seconds = [&](Seconds time) { return seconds_text(time, explanation.outcome.total); };
  TextTable table;
  table.columns = {{"lane", "", Align::left},   {"members", ""},    {"collectives", "a device"},
                   {"in flight", "s"},          {"+ waiting", "s"}, {"= exposed", "s"},
                   {"+ hidden", "s"},           {"hidden", "%"},    {"latency", "s"},
                   {"on the wire", "GB/device"}};
  for (std::size_t c = 0; c < explanation.channels.size(); ++c) {
    const ChannelUse& use = explanation.channels[c];
    if (use.collectives == 0) continue;
    const double hidden = use.busy.value > 0.0 ? use.hidden / use.busy : 0.0;
    table.rows.push_back({channel_name(explanation, c), fmt::to_string(use.members),
                          fmt::to_string(use.collectives), seconds(use.busy), seconds(use.waiting),
                          seconds(use.exposed), seconds(use.hidden), percent(hidden),
                          seconds(use.latency), fmt::format("{:.2f}", use.sent.value / 1e9)});
  }
  std::string text =
      table.rows.empty() ? "No axis is cut: nothing is communicated.\n" : format(table);
  if (explanation.waiting().value <= 0.0) return text;
  const bool alike = explanation.not_in_closed_form.empty();
  const char* why = explanation.outcome.bubble.value > 0.0
                        ? " Along pipe that is a stage without a micro-batch to work on."
                    : alike ? " Devices that compute alike come at different times where their "
                              "other groups share links with different neighbours."
                            : "";
  return text + wrapped(fmt::format(
                    "Waiting: nothing of the lane is in flight yet, as a member of the group comes "
                    "later; {} s on all lanes.{}\n",
                    seconds(explanation.waiting()), why));
}

std::string names_of(const CollectiveUse& use) {
  std::string text;
  for (std::size_t i = 0; i < use.names.size() && i < names_shown; ++i) {
    text += (i > 0 ? ", " : "") + use.names[i];
  }
  const std::size_t more = use.names.size() - std::min(use.names.size(), names_shown);
  return more > 0 ? text + fmt::format(" and {} more", more) : text;
}

// With the simulated times where there are some.
std::string collectives(const Explanation& explanation, Width width) {
  if (explanation.collectives.empty()) return "";
  const bool flown = explanation.detail.has_value();
  const auto seconds = [&](Seconds time) { return seconds_text(time, explanation.outcome.total); };
  TextTable table;
  table.columns = {{"lane", "", Align::left},      {"collective", "", Align::left},
                   {"count", "a device"},          {"buffer", "MB"},
                   {"algorithm", "", Align::left}, {"protocol", "", Align::left, 3}};
  if (flown) {
    table.columns.insert(table.columns.end(), {{"simulated", "mean, ms"},
                                               {"longest", "ms", Align::right, 4},
                                               {"bus bandwidth", "GB/s", Align::right, 2},
                                               {"closed form", "ms", Align::right, 1},
                                               {"latency", "%", Align::right, 5},
                                               {"all simulated", "s"}});
  } else {
    table.columns.insert(table.columns.end(), {{"time each", "ms"},
                                               {"latency", "%", Align::right, 4},
                                               {"bus bandwidth", "GB/s", Align::right, 2},
                                               {"all", "s"}});
  }
  table.columns.push_back({"of", "", Align::left});
  for (const CollectiveUse& use : explanation.collectives) {
    std::vector<std::string> row{channel_name(explanation, static_cast<std::size_t>(use.channel)),
                                 name(use.kind),
                                 count_text(use.count),
                                 megabytes(use.buffer),
                                 name(use.algorithm),
                                 name(use.protocol)};
    if (flown && use.flown) {
      row.insert(row.end(), {milliseconds(use.flown->mean), milliseconds(use.flown->longest),
                             fmt::format("{:.3f}", use.flown_bus_bandwidth.value / 1e9),
                             milliseconds(use.each), percent(use.latency_share),
                             seconds(use.flown->mean * use.count)});
    } else {
      row.insert(row.end(),
                 {milliseconds(use.each), percent(use.latency_share),
                  fmt::format("{:.3f}", use.bus_bandwidth.value / 1e9), seconds(use.all())});
    }
    row.push_back(names_of(use));
    table.rows.push_back(std::move(row));
  }
  const std::string title =
      flown
          ? "Collectives as simulated, from the start of the transfer, with all that shares their "
            "links; beside them the closed form, with only the groups of their own axis on the "
            "links, and the part of it that is latency. Bus bandwidth as nccl-tests defines it:"
          : "Collectives by the closed form, with only the groups of their own axis on the links; "
            "bus bandwidth as nccl-tests defines it:";
  return wrapped(title) + '\n' + format(table, width);
}

std::string memory(const Explanation& explanation) {
  TextTable table;
  table.columns = {
      {"memory at the peak", "", Align::left}, {"per device", "GB"}, {"of limit", "%"}};
  const auto add = [&](const std::string& what, Bytes bytes) {
    table.rows.push_back({what, fmt::format("{:.2f}", bytes.value / 1e9),
                          percent(bytes / explanation.memory_limit)});
  };
  for (Role role : roles_in(explanation.memory.by_role)) {
    add(name(role), explanation.memory.by_role[static_cast<int>(role)]);
  }
  table.rows.emplace_back();
  add("peak", explanation.memory.peak);
  add("limit, what the reserve leaves", explanation.memory_limit);
  return format(table);
}

std::string ideals(const Explanation& explanation) {
  TextTable table;
  table.columns = {{"what ideal parts would give", "", Align::left},
                   {"step", "s"},
                   {"saves", "%"},
                   {"by", "", Align::left}};
  for (const Ideal& ideal : explanation.ideals) {
    table.rows.push_back({ideal.name, seconds_text(ideal.time, explanation.outcome.total),
                          percent(1.0 - ideal.time / explanation.outcome.total), ideal.by});
  }
  return format(table);
}

// What the parts of the answer that are no simulation leave out.
std::string limits(const Explanation& explanation) {
  if (explanation.not_in_closed_form.empty()) return "";
  return wrapped(fmt::format("The closed form does not include: {}. The simulation does.",
                             fmt::join(explanation.not_in_closed_form, ", "))) +
         "\n\n";
}

nlohmann::json json_of(const ChannelUse& use) {
  return {{"members", use.members},         {"collectives_per_device", use.collectives},
          {"in_flight_s", use.busy.value},  {"exposed_s", use.exposed.value},
          {"hidden_s", use.hidden.value},   {"waiting_for_devices_s", use.waiting.value},
          {"latency_s", use.latency.value}, {"sent_on_wire_B_per_device", use.sent.value}};
}

nlohmann::json json_of(const CollectiveUse& use, const std::string& channel) {
  return {
      {"names", use.names},
      {"kind", name(use.kind)},
      {"lane", channel},
      {"count_per_device", use.count},
      {"buffer_B", use.buffer.value},
      {"algorithm", name(use.algorithm)},
      {"protocol", name(use.protocol)},
      {"each_s", use.each.value},
      {"latency_share", use.latency_share},
      {"bus_bandwidth_B_per_s", use.bus_bandwidth.value},
      {"all_s", use.all().value},
      {"simulated_mean_s", use.flown ? nlohmann::json(use.flown->mean.value) : nlohmann::json()},
      {"simulated_longest_s",
       use.flown ? nlohmann::json(use.flown->longest.value) : nlohmann::json()},
      {"simulated_bus_bandwidth_B_per_s",
       use.flown ? nlohmann::json(use.flown_bus_bandwidth.value) : nlohmann::json()}};
}

}  // namespace

std::string explanation_text(const Explanation& explanation, Width width) {
  std::string text = critical_path(explanation) + '\n' + channels(explanation) + '\n';
  if (explanation.detail) {
    text += detail_text(*explanation.detail, explanation.outcome.channels, width);
  }
  return text + collectives(explanation, width) + '\n' + limits(explanation) + memory(explanation) +
         '\n' + ideals(explanation) + '\n' + wrapped(explanation.verdict()) + '\n';
}

nlohmann::json json_of(const Explanation& explanation) {
  nlohmann::json parts = nlohmann::json::object();
  for (const auto& [part, time] : explanation.parts()) parts[part] = time.value;
  nlohmann::json by_channel = nlohmann::json::object();
  for (std::size_t c = 0; c < explanation.channels.size(); ++c) {
    by_channel[channel_name(explanation, c)] = json_of(explanation.channels[c]);
  }
  nlohmann::json collectives = nlohmann::json::array();
  for (const CollectiveUse& use : explanation.collectives) {
    const auto channel = static_cast<std::size_t>(use.channel);
    collectives.push_back(json_of(use, channel_name(explanation, channel)));
  }
  nlohmann::json roles = nlohmann::json::object();
  for (Role role : roles_in(explanation.memory.by_role)) {
    roles[name(role)] = explanation.memory.by_role[static_cast<int>(role)].value;
  }
  nlohmann::json ideals = nlohmann::json::object();
  for (const Ideal& ideal : explanation.ideals) {
    ideals[ideal.key] = {{"step_s", ideal.time.value}, {"by", ideal.by}};
  }
  return {{"total_s", explanation.outcome.total.value},
          {"critical_path_s", parts},
          {"lanes", by_channel},
          {"collectives", collectives},
          {"memory_at_peak_B", roles},
          {"memory_peak_B", explanation.memory.peak.value},
          {"memory_limit_B", explanation.memory_limit.value},
          {"gemm_rate_flop_per_s", explanation.gemm_rate.value},
          {"ideals", ideals},
          {"simulation", explanation.detail
                             ? json_of_sums(*explanation.detail, explanation.outcome.channels)
                             : nlohmann::json()},
          {"not_in_closed_form", explanation.not_in_closed_form},
          {"verdict", explanation.verdict()}};
}

}  // namespace fourfold::inline scaling::inline text
