// Sentences about two answers; see what_if_text.hpp.
#include "scaling/text/what_if_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scaling/words/amounts.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline text {
namespace {

constexpr std::size_t shown_limits = 3;

std::string what_limits(const WhatIfEffect& effect) {
  std::vector<std::string> parts;
  for (const Limit& limit : effect.limits) {
    if (parts.size() == shown_limits) break;
    parts.push_back(
        fmt::format("{} ({:+.1f} %)", limit.key, 100.0 * (limit.twice / effect.with - 1.0)));
  }
  return parts.empty() ? ""
                       : fmt::format(" What limits, by what twice as fast would give: {}.",
                                     fmt::join(parts, ", "));
}

// What a rerouted link costs is the least that it can.
std::string around_text(const WhatIfEffect& effect) {
  if (effect.failed.empty()) return "";
  return fmt::format(
      " Traffic of {} goes other ways from the first second on, shared evenly: a library that does "
      "not find them is slower, or stops.",
      fmt::join(effect.failed, ", "));
}

}  // namespace

std::string what_if_text(const WhatIfEffect& effect) {
  if (!effect.why_none_without.empty()) {
    return wrapped(fmt::format("Without what was asked there is no answer: {}.",
                               effect.why_none_without)) +
           '\n';
  }
  const std::string on =
      (effect.grid_without.empty() ? "" : fmt::format(" on grid {}", effect.grid_without)) +
      (effect.sequences == 0 ? ""
                             : fmt::format(" for as many sequences, {} of the {} of a batch",
                                           effect.sequences, effect.whole_batch));
  std::string text;
  if (effect.nothing()) {
    text = fmt::format("Nothing changes: {} s{} without what was asked, {} s with it.{}",
                       seconds_text(effect.without), on, seconds_text(effect.with, effect.without),
                       what_limits(effect));
    for (const std::string& group : effect.belong_together) {
      text += fmt::format(" These numbers belong together, and --scale {}=FACTOR scales all: {}.",
                          group.substr(0, group.find(':')), group.substr(group.find(':') + 2));
    }
    return wrapped(text + around_text(effect)) + '\n';
  }
  const Seconds less = std::min(effect.with, effect.without);
  const auto seconds = [less](Seconds value) { return seconds_text(value, less); };
  text = fmt::format("Without what was asked {} s{}, with it {} s: {} s {} ({:+.2f} %)",
                     seconds(effect.without), on, seconds(effect.with),
                     seconds({std::abs((effect.with - effect.without).value)}),
                     effect.change() > 0.0 ? "more" : "less", 100.0 * effect.change());
  if (effect.tie > 0.0) {
    text += fmt::format(", which {} the tie of {:.1f} %",
                        effect.within_tie() ? "lies within" : "is more than", 100.0 * effect.tie);
  }
  return wrapped(text + '.' + around_text(effect)) + '\n';
}

nlohmann::json json_of(const WhatIfEffect& effect) {
  if (!effect.why_none_without.empty()) {
    return {{"without_s", nullptr},
            {"with_s", effect.with.value},
            {"change", nullptr},
            {"changed", true},
            {"why_none_without", effect.why_none_without},
            {"tokens_per_s_with", effect.tokens_per_s_with}};
  }
  nlohmann::json object{{"without_s", effect.without.value},
                        {"with_s", effect.with.value},
                        {"change", effect.change()},
                        {"changed", !effect.nothing()},
                        {"tokens_per_s_without", effect.tokens_per_s_without},
                        {"tokens_per_s_with", effect.tokens_per_s_with}};
  if (!effect.grid_without.empty()) object["grid_without"] = effect.grid_without;
  if (effect.sequences > 0) object["sequences"] = effect.sequences;
  if (effect.tie > 0.0) {
    object["tie"] = effect.tie;
    object["within_tie"] = effect.within_tie();
  }
  for (const Limit& limit : effect.limits) {
    object["limits"].push_back({{"key", limit.key}, {"twice_as_fast_s", limit.twice.value}});
  }
  return object;
}

}  // namespace fourfold::inline scaling::inline text
