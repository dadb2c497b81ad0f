// What-ifs as JSON: each is the word that people type; see what_ifs_json.hpp.
#include "sim/conditions/what_ifs_json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "support/nearest_name.hpp"

namespace fourfold {
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

std::vector<std::string> words_in(JsonObject& object, const std::string& key) {
  std::vector<std::string> words;
  if (!object.has(key)) return words;
  const json& list = object.get(key);
  if (!list.is_array()) throw std::runtime_error("'" + key + "' must be a list of words");
  for (const json& entry : list) {
    if (!entry.is_string()) throw std::runtime_error("'" + key + "' must be a list of words");
    words.push_back(entry.get<std::string>());
  }
  return words;
}

}  // namespace

json json_of(const WhatIfs& what_ifs) {
  const Placement& placement = what_ifs.placement;
  json object{{"placement", name(placement.by)}, {"collective", name(what_ifs.collective)}};
  if (!placement.list.empty()) {
    object["placement"] = fmt::format("{}={}", name(placement.by), words_of(placement.list));
  }
  if (what_ifs.jitter_percent > 0.0) object["jitter"] = fmt::format("{}%", what_ifs.jitter_percent);
  if (what_ifs.needs_seed()) object["seed"] = what_ifs.seed;
  const SlowDevices& slow = what_ifs.slow_devices;
  if (!slow.none()) {
    object["slow_devices"] = slow.devices.empty()
                                 ? fmt::format("{}:{}", slow.count, slow.speed)
                                 : fmt::format("{}={}", words_of(slow.devices), slow.speed);
  }
  for (const Degradation& fault : what_ifs.degrade) {
    object["degrade"].push_back(fmt::format("{}={}", fault.link, fault.speed));
  }
  for (const Failure& fault : what_ifs.fail) {
    object["fail"].push_back(fault.cables == 1 ? fault.link
                                               : fmt::format("{}={}", fault.link, fault.cables));
  }
  return object;
}

WhatIfs read_what_ifs(JsonObject object) {
  object.allow_only(
      {"placement", "jitter", "slow_devices", "degrade", "fail", "collective", "seed"});
  WhatIfs what_ifs;
  if (object.has("placement")) what_ifs.placement = placement_in(object.text("placement"));
  if (object.has("jitter")) what_ifs.jitter_percent = percent_in(object.text("jitter"));
  if (object.has("slow_devices")) {
    what_ifs.slow_devices = slow_devices_in(object.text("slow_devices"));
  }
  for (const std::string& words : words_in(object, "degrade")) {
    what_ifs.degrade.push_back(degradation_in(words));
  }
  for (const std::string& words : words_in(object, "fail")) {
    what_ifs.fail.push_back(failure_in(words));
  }
  if (object.has("collective")) {
    what_ifs.collective = collective_tuning(object.text("collective"));
  }
  if (object.has("seed")) {
    what_ifs.seed = static_cast<std::uint64_t>(object.integer("seed"));
    if (!what_ifs.needs_seed()) {
      throw std::runtime_error(
          "a seed takes effect only with jitter or with random placement; leave it out");
    }
  }
  return what_ifs;
}

}  // namespace fourfold
