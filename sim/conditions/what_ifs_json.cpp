// What-ifs as JSON: a table of fields, each of which is the word that people type; see
// what_ifs_json.hpp.
#include "sim/conditions/what_ifs_json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "support/field_json.hpp"
#include "support/nearest_name.hpp"

namespace fourfold::inline sim::inline conditions {
namespace {

using nlohmann::json;

// A whole word as a finite number; absent if it is none.
std::optional<double> number_of(const std::string& word) {
  double number = 0.0;
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  if (word.empty() || parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

Placement placement_in(const std::string& words) {
  for (Placing plain : {Placing::packed, Placing::spread, Placing::random}) {
    if (words == name(plain)) return {plain, {}};
  }
  const std::size_t equals = words.find('=');
  for (Placing listed : {Placing::nodes, Placing::devices}) {
    if (equals != std::string::npos && words.substr(0, equals) == name(listed)) {
      return {listed, numbers_in(words.substr(equals + 1))};
    }
  }
  throw std::runtime_error(fmt::format(
      "unknown placement '{}'{}; there are packed, spread, random, nodes=LIST and devices=LIST",
      words.substr(0, 40), did_you_mean(words, {"packed", "spread", "random"})));
}

double percent_in(const std::string& words) {
  const std::optional<double> percent =
      words.ends_with('%') ? number_of(words.substr(0, words.size() - 1)) : std::nullopt;
  if (!percent || !(*percent > 0.0 && *percent <= 100.0)) {
    throw std::runtime_error(
        fmt::format("jitter '{}' is no percentage above 0 % and up to 100 %, such as 2%", words));
  }
  return *percent;
}

double speed_in(const std::string& word, const std::string& all) {
  const std::optional<double> speed = number_of(word);
  if (!speed || !(*speed > 0.0 && *speed < 1.0)) {
    throw std::runtime_error(
        fmt::format("'{}' in '{}' is no factor above 0 and below 1, such as 0.5", word, all));
  }
  return *speed;
}

SlowDevices slow_devices_in(const std::string& words) {
  SlowDevices slow;
  if (const std::size_t equals = words.find('='); equals != std::string::npos) {
    slow.devices = numbers_in(words.substr(0, equals));
    slow.speed = speed_in(words.substr(equals + 1), words);
    return slow;
  }
  const std::size_t colon = words.find(':');
  const std::optional<double> count = number_of(words.substr(0, colon));
  if (colon == std::string::npos || !count || *count < 1.0 || *count > 1e9 ||
      *count != std::floor(*count)) {
    throw std::runtime_error(fmt::format(
        "slow devices '{}' are neither COUNT:SPEED, such as 1:0.5, nor DEVICES=SPEED, such as "
        "17,4000=0.5",
        words));
  }
  slow.count = static_cast<std::int64_t>(*count);
  slow.speed = speed_in(words.substr(colon + 1), words);
  return slow;
}

Degradation degradation_in(const std::string& words) {
  const std::size_t equals = words.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw std::runtime_error(
        fmt::format("'{}' degrades nothing; write LINK=FACTOR, such as nic:17.2=0.5", words));
  }
  return {words.substr(0, equals), speed_in(words.substr(equals + 1), words)};
}

Failure failure_in(const std::string& words) {
  const std::size_t equals = words.rfind('=');
  if (equals == std::string::npos) return {words, 1};
  const std::optional<double> cables = number_of(words.substr(equals + 1));
  if (equals == 0 || !cables || *cables < 1.0 || *cables > 1e6 || *cables != std::floor(*cables)) {
    throw std::runtime_error(fmt::format(
        "'{}' fails nothing; write LINK or LINK=CABLES, such as nic:17.2 or global:3-9=2", words));
  }
  return {words.substr(0, equals), static_cast<std::int64_t>(*cables)};
}

Field<WhatIfs> placement_field() {
  return {{.key = "placement",
           .flag = "--placement",
           .help = "packed (default), spread (nodes dealt out to the groups of the network in "
                   "turn), random (nodes of the whole machine), nodes=LIST or devices=LIST such as "
                   "0-7,12, nodes:FILE or devices:FILE with a number a line",
           .kind = FreeText{}},
          [](const WhatIfs& what_ifs) -> std::optional<FieldValue> {
            const Placement& placement = what_ifs.placement;
            if (placement.list.empty()) return std::string(name(placement.by));
            return fmt::format("{}={}", name(placement.by), words_of(placement.list));
          },
          [](WhatIfs& what_ifs, const FieldValue& words) {
            what_ifs.placement = placement_in(std::get<std::string>(words));
          }};
}

Field<WhatIfs> jitter_field() {
  return {{.key = "jitter",
           .flag = "--jitter",
           .help = "such as 2%: standard deviation of compute steps, lognormal, by rank and step",
           .kind = FreeText{}},
          [](const WhatIfs& what_ifs) -> std::optional<FieldValue> {
            if (what_ifs.jitter_percent == 0.0) return std::nullopt;
            return fmt::format("{}%", what_ifs.jitter_percent);
          },
          [](WhatIfs& what_ifs, const FieldValue& words) {
            what_ifs.jitter_percent = percent_in(std::get<std::string>(words));
          }};
}

Field<WhatIfs> slow_devices_field() {
  return {{.key = "slow_devices",
           .flag = "--slow-devices",
           .help = "COUNT:SPEED, such as 1:0.5, evenly spread over the ranks; or DEVICES=SPEED, "
                   "such as 17,4000=0.5",
           .kind = FreeText{}},
          [](const WhatIfs& what_ifs) -> std::optional<FieldValue> {
            const SlowDevices& slow = what_ifs.slow_devices;
            if (slow.none()) return std::nullopt;
            return slow.devices.empty() ? fmt::format("{}:{}", slow.count, slow.speed)
                                        : fmt::format("{}={}", words_of(slow.devices), slow.speed);
          },
          [](WhatIfs& what_ifs, const FieldValue& words) {
            what_ifs.slow_devices = slow_devices_in(std::get<std::string>(words));
          }};
}

// A list of faults, each a word.
template <typename Fault>
Field<WhatIfs> faults_field(FieldFacts facts, std::vector<Fault> WhatIfs::*member,
                            std::string (*word)(const Fault&),
                            Fault (*fault_in)(const std::string&)) {
  facts.kind = FreeTexts{};
  return {std::move(facts),
          [member, word](const WhatIfs& what_ifs) -> std::optional<FieldValue> {
            std::vector<std::string> words;
            for (const Fault& fault : what_ifs.*member) words.push_back(word(fault));
            return words.empty() ? std::nullopt : std::optional<FieldValue>(words);
          },
          [member, fault_in](WhatIfs& what_ifs, const FieldValue& words) {
            (what_ifs.*member).clear();
            for (const std::string& one : std::get<std::vector<std::string>>(words)) {
              (what_ifs.*member).push_back(fault_in(one));
            }
          }};
}

std::string word_of(const Degradation& fault) {
  return fmt::format("{}={}", fault.link, fault.speed);
}

std::string word_of(const Failure& fault) {
  return fault.cables == 1 ? fault.link : fmt::format("{}={}", fault.link, fault.cables);
}

Field<WhatIfs> collective_field() {
  return {{.key = "collective",
           .flag = "--collective",
           .help = "auto (default), ring, tree, recursive or hierarchical, where groups can; "
                   "all-reduce:tree for one kind only",
           .kind = FreeText{}},
          [](const WhatIfs& what_ifs) -> std::optional<FieldValue> {
            return name(what_ifs.collective);
          },
          [](WhatIfs& what_ifs, const FieldValue& words) {
            what_ifs.collective = collective_tuning(std::get<std::string>(words));
          }};
}

Field<WhatIfs> seed_field() {
  Field<WhatIfs> field = number_field<WhatIfs>(
      {.key = "seed", .flag = "--seed", .help = "of jitter and random placement (default 1)"},
      {.least = 0, .most = std::numeric_limits<std::int64_t>::max()}, &WhatIfs::seed);
  field.get = [](const WhatIfs& what_ifs) -> std::optional<FieldValue> {
    if (!what_ifs.needs_seed()) return std::nullopt;
    return static_cast<std::int64_t>(what_ifs.seed);
  };
  return field;
}

std::vector<Field<WhatIfs>> rows() {
  return {placement_field(),
          jitter_field(),
          slow_devices_field(),
          faults_field<Degradation>(
              {.key = "degrade",
               .flag = "--degrade",
               .help = "LINK=FACTOR on the bandwidth, such as nic:17.2=0.5 (node, NIC), "
                       "inner:17.0-1, local:3.0-5 (group, switches), global:3-9 (groups), "
                       "device:5 (crossbar)"},
              &WhatIfs::degrade, word_of, degradation_in),
          faults_field<Failure>(
              {.key = "fail",
               .flag = "--fail",
               .help = "LINK or LINK=CABLES: nic:17.2, local:3.0-5, global:3-9=2; what has no "
                       "cable left is gone, and its traffic takes other ways"},
              &WhatIfs::fail, word_of, failure_in),
          collective_field(),
          seed_field()};
}

}  // namespace

const FieldTable<WhatIfs>& what_if_fields() {
  static const FieldTable<WhatIfs> table(rows());
  return table;
}

json json_of(const WhatIfs& what_ifs) {
  return json_of_values(what_if_fields().values(what_ifs));
}

WhatIfs read_what_ifs(JsonObject object) {
  const FieldValues values = read_given_fields(object, what_if_fields().facts());
  WhatIfs what_ifs;
  what_if_fields().set(what_ifs, values);
  if (values.contains("seed") && !what_ifs.needs_seed()) {
    throw std::runtime_error(
        "a seed takes effect only with jitter or with random placement; leave it out");
  }
  return what_ifs;
}

}  // namespace fourfold::inline sim::inline conditions
