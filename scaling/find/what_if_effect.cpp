// One more answer where the search itself was asked with what-ifs; see what_if_effect.hpp.
#include "scaling/find/what_if_effect.hpp"

#include <algorithm>
#include <cmath>

#include "platforms/file/fact_table.hpp"
#include "platforms/file/scale_groups.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

// What limits instead, and which numbers belong to those that were scaled.
void explain_nothing(WhatIfEffect& effect, const Record& record) {
  const Platform platform =
      read_platform(record.point.platform, record.point.scales, record.point.software);
  effect.limits = limits(record.point, platform);
  for (const ScaleGroup& group : scale_groups()) {
    const std::string all = words_of_group(group, platform);
    const bool scaled = std::ranges::any_of(record.point.scales, [&](const auto& scale) {
      return all.find(without_label(scale.first)) != std::string::npos;
    });
    if (scaled && all.find(", ") != std::string::npos) {
      effect.belong_together.push_back(group.name + ": " + all);
    }
  }
}

WhatIfEffect compared(Seconds without, const Record& record) {
  WhatIfEffect effect;
  for (const Failure& one : record.point.what_ifs.fail) effect.failed.push_back(one.link);
  effect.without = without;
  effect.with = record.seconds();
  effect.tokens_per_s_with = record.throughput().tokens_per_s;
  effect.tokens_per_s_without = effect.tokens_per_s_with * (effect.with / without);
  effect.tie = record.bar ? record.bar->tie : 0.0;
  if (effect.nothing()) explain_nothing(effect, record);
  return effect;
}

}  // namespace

bool WhatIfEffect::within_tie() const {
  return std::max(with / without, without / with) - 1.0 < tie;
}

bool WhatIfEffect::nothing() const {
  constexpr double rounding = 1e-4;
  return why_none_without.empty() && std::abs(change()) < rounding;
}

std::optional<WhatIfEffect> effect_of_what_ifs(const Question& asked, const Record& record,
                                               const StoppingRule& rule,
                                               const ProgressWatch& watch) {
  if (asked.scales.empty() && asked.what_ifs == WhatIfs{}) return std::nullopt;
  const bool searched_with = !asked.scales.empty() || asked.what_ifs.collective.algorithm;
  if (!searched_with && record.uniform) return compared(*record.uniform, record);
  return effect_against(without_what_ifs(asked), asked, record, rule, watch);
}

Question without_what_ifs(Question asked) {
  asked.scales.clear();
  asked.what_ifs = {};
  return asked;
}

WhatIfEffect effect_against(const Question& without, const Question& asked, const Record& record,
                            const StoppingRule& rule, const ProgressWatch& watch) {
  std::optional<Finding> answer;
  try {
    answer = find_answer(without, record.fidelity, rule, watch);
  } catch (const DoesNotFit& no) {
    WhatIfEffect effect;
    effect.why_none_without = no.what();
    effect.with = record.seconds();
    effect.tokens_per_s_with = record.throughput().tokens_per_s;
    return effect;
  }
  const Finding& found = *answer;
  const ProcessGrid& grid = found.best().grid;
  const double part =
      static_cast<double>(asked.global_batch) / static_cast<double>(without.global_batch);
  WhatIfEffect effect = compared(found.outcome().total * part, record);
  if (asked.global_batch != without.global_batch) {
    effect.sequences = asked.global_batch;
    effect.whole_batch = without.global_batch;
  }
  if (!(grid == record.point.grid)) effect.grid_without = grid.str();
  return effect;
}

}  // namespace fourfold::inline scaling::inline find
