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
#include <utility>

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

// Of one speed.
SlowDevices slow_group_in(const std::string& words) {
  SlowDevices slow;
  if (const std::size_t equals = words.find('='); equals != std::string::npos) {
    slow.devices = numbers_in(words.substr(0, equals));
    slow.speed = speed_in(words.substr(equals + 1), words);
    return slow;
  }
  const std::size_t colon = words.find(':');
  const bool of_hundred = colon != std::string::npos && colon > 0 && words[colon - 1] == '%';
  const std::optional<double> count = number_of(words.substr(0, of_hundred ? colon - 1 : colon));
  const double most = of_hundred ? 100.0 : 1e9;
  if (colon == std::string::npos || !count || !(*count > 0.0) || *count > most ||
      (!of_hundred && *count != std::floor(*count))) {
    throw std::runtime_error(fmt::format(
        "slow devices '{}' are neither COUNT:SPEED, such as 1:0.5 or 2%:0.9, nor DEVICES=SPEED, "
        "such as 17,4000=0.5",
        words));
  }
  if (of_hundred) {
    slow.percent = *count;
  } else {
    slow.count = static_cast<std::int64_t>(*count);
  }
  slow.speed = speed_in(words.substr(colon + 1), words);
  return slow;
}

SlowDevices slow_devices_in(const std::string& words) {
  const std::size_t plus = words.find('+');
  SlowDevices slow = slow_group_in(words.substr(0, plus));
  for (std::size_t at = plus; at != std::string::npos;) {
    const std::size_t next = words.find('+', at + 1);
    slow.besides.push_back(slow_group_in(words.substr(at + 1, next - at - 1)));
    at = next;
  }
  return slow;
}

std::string word_of(const SlowDevices& slow) {
  std::string word = !slow.devices.empty()
                         ? fmt::format("{}={}", words_of(slow.devices), slow.speed)
                     : slow.percent > 0.0 ? fmt::format("{}%:{}", slow.percent, slow.speed)
                                          : fmt::format("{}:{}", slow.count, slow.speed);
  for (const SlowDevices& one : slow.besides) word += '+' + word_of(one);
  return word;
}

Background background_in(const std::string& words) {
  const std::vector<std::string> kinds{"local", "global", "leaf", "spine", "core", "torus"};
  const std::size_t equals = words.find('=');
  const double percent =
      equals != std::string::npos && words.ends_with('%')
          ? number_of(words.substr(equals + 1, words.size() - equals - 2)).value_or(0.0)
          : 0.0;
  const std::string kind = words.substr(0, equals);
  if (std::ranges::find(kinds, kind) == kinds.end() || !(percent > 0.0) || !(percent < 100.0)) {
    throw std::runtime_error(fmt::format(
        "--background '{}' is no KIND=PERCENT%, such as global=30%; kinds of links that jobs share "
        "are {}",
        words, fmt::join(kinds, ", ")));
  }
  return {kind, percent};
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
  return {
      {.key = "placement",
       .flag = "--placement",
       .help = "packed (default), spread (nodes dealt out to the groups of the network in "
               "turn), random (nodes of the whole machine), nodes=LIST or devices=LIST such as "
               "0-7,12, nodes:FILE or devices:FILE with a number a line; nodes may be hosts, as "
               "schedulers list them: nodes:FILE,of=ALL-HOSTS or nodes:FILE,first=HOST",
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
           .help = "such as 2%: standard deviation of compute steps, lognormal, by rank and step; "
                   "or machine: what the machine's spreads say, drawn and not expected",
           .kind = FreeText{}},
          [](const WhatIfs& what_ifs) -> std::optional<FieldValue> {
            if (what_ifs.draws_spreads) return std::string("machine");
            if (what_ifs.jitter_percent == 0.0) return std::nullopt;
            return fmt::format("{}%", what_ifs.jitter_percent);
          },
          [](WhatIfs& what_ifs, const FieldValue& words) {
            const std::string& word = std::get<std::string>(words);
            what_ifs.draws_spreads = word == "machine";
            what_ifs.jitter_percent = what_ifs.draws_spreads ? 0.0 : percent_in(word);
          }};
}

Field<WhatIfs> slow_devices_field() {
  return {{.key = "slow_devices",
           .flag = "--slow-devices",
           .help = "COUNT:SPEED, such as 1:0.5 or 2%:0.9, evenly spread over the ranks; or "
                   "DEVICES=SPEED, such as 17,4000=0.5; several with + between them",
           .kind = FreeText{}},
          [](const WhatIfs& what_ifs) -> std::optional<FieldValue> {
            const SlowDevices& slow = what_ifs.slow_devices;
            return slow.none() ? std::nullopt : std::optional<FieldValue>(word_of(slow));
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

std::string word_of(const Background& other) {
  return fmt::format("{}={}%", other.kind, other.percent);
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
          faults_field<Background>(
              {.key = "background",
               .flag = "--background",
               .help = "KIND=PERCENT% that other jobs take of every link of a kind: local, global, "
                       "leaf, spine, core or torus, such as global=30%"},
              &WhatIfs::background, word_of, background_in),
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
  const FieldValues values = read_given_fields(std::move(object), what_if_fields().facts());
  WhatIfs what_ifs;
  what_if_fields().set(what_ifs, values);
  if (values.contains("seed") && !what_ifs.needs_seed()) {
    throw std::runtime_error(
        "a seed takes effect only with jitter or with random placement; leave it out");
  }
  return what_ifs;
}

}  // namespace fourfold::inline sim::inline conditions
