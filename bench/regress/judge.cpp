// Bounds, ranks and peers; see judge.hpp.
#include "bench/regress/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <stdexcept>

namespace fourfold::inline bench::inline regress {

namespace {

Standing standing_of(const Judgement& judgement, double recorded) {
  if (judgement.scale == Scale::exact) {
    const bool same =
        std::bit_cast<std::uint64_t>(recorded) == std::bit_cast<std::uint64_t>(judgement.judged);
    return same ? Standing::fine : Standing::changed;
  }
  const bool low = judgement.change < judgement.reference.lower;
  if (low && judgement.chance < least_chance) return Standing::slower;
  return judgement.change > judgement.reference.upper ? Standing::faster : Standing::fine;
}

// The median of a sample over its ends in 95 of 100 such samples: ranks n/2 +- 0.98 sqrt(n).
struct MedianEnds {
  double low = 1.0, high = 1.0;
};
MedianEnds ends_of_median(const Sample& sample) {
  if (sample.size() < 2) return {};
  const double share = 0.98 / std::sqrt(static_cast<double>(sample.size()));
  const double middle = median(sample);
  return {nearest_rank(sample, std::max(0.5 - share, 0.0)) / middle,
          nearest_rank(sample, std::min(0.5 + share, 1.0)) / middle};
}

void refuse_other_unit(const BaselineMetric& recorded, const Metric& fresh) {
  if (recorded.reference.unit == fresh.unit && recorded.scale == fresh.scale) return;
  throw std::runtime_error(fmt::format(
      "the baseline has {} in {} on the scale {}, but it is measured in {} on the scale "
      "{}; record a baseline anew",
      recorded.name, recorded.reference.unit, name(recorded.scale), fresh.unit, name(fresh.scale)));
}

struct Unit {
  std::string who;
  std::vector<double> rates;
  std::vector<bool> excused = {};  // by rate: it is no fault; none where empty
};

// Of each unit the quantity in which it is furthest behind the median of the others, if that is far
// enough.
void add_stragglers(const std::vector<Unit>& units, const std::vector<std::string>& names,
                    std::vector<Straggler>& found) {
  if (units.size() < 2) return;
  for (std::size_t u = 0; u < units.size(); ++u) {
    Straggler worst;
    double lowest = share_of_peers;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!units[u].excused.empty() && units[u].excused[i]) continue;
      Sample others;
      for (std::size_t v = 0; v < units.size(); ++v) {
        if (v != u) others.push_back(units[v].rates[i]);
      }
      const double peers = median(others);
      if (units[u].rates[i] >= lowest * peers) continue;
      lowest = units[u].rates[i] / peers;
      worst = {units[u].who, names[i], units[u].rates[i], peers};
    }
    if (!worst.who.empty()) found.push_back(worst);
  }
}

// Whether a rank's library is as fast beside its own product as the baseline asks of all.
bool as_recorded(const std::string& name, double beside_own, const Baseline* baseline) {
  if (baseline == nullptr) return false;
  const auto recorded = std::ranges::find(baseline->metrics, name, &BaselineMetric::name);
  return recorded != baseline->metrics.end() && recorded->scale == Scale::own_product &&
         beside_own >= (1.0 + recorded->reference.lower) * recorded->judged;
}

}  // namespace

const char* name(Standing standing) {
  constexpr std::array names{"fine", "faster", "SLOWER", "CHANGED", "MISSING"};
  return names[static_cast<std::size_t>(standing)];
}

std::vector<Judgement> judge(const Baseline& baseline, const MachineRun& run) {
  std::vector<Judgement> judgements;
  for (const BaselineMetric& recorded : baseline.metrics) {
    Judgement judgement;
    judgement.name = recorded.name;
    judgement.reference = recorded.reference;
    judgement.scale = recorded.scale;
    judgement.recorded = recorded.judged;
    const auto found =
        std::find_if(run.metrics.begin(), run.metrics.end(),
                     [&](const Metric& fresh) { return fresh.name == recorded.name; });
    if (found == run.metrics.end()) {
      judgement.standing = Standing::missing;
    } else {
      refuse_other_unit(recorded, *found);
      judgement.value = found->value;
      judgement.judged = found->judged;
      judgement.change = found->judged / recorded.judged - 1.0;
      const MedianEnds now = ends_of_median(found->samples),
                       then = ends_of_median(recorded.samples);
      judgement.least_ratio = (1.0 + judgement.change) * now.low / then.high;
      judgement.most_ratio = (1.0 + judgement.change) * now.high / then.low;
      judgement.chance = chance_of_lower(found->samples, recorded.samples);
      judgement.standing = standing_of(judgement, recorded.judged);
    }
    judgements.push_back(judgement);
  }
  return judgements;
}

std::string incomparable(const Baseline& baseline, const Provenance& now, std::int64_t ranks) {
  if (baseline.provenance.cpu != now.cpu) {
    return fmt::format("it was recorded on {}, and this is {}", baseline.provenance.cpu, now.cpu);
  }
  if (baseline.provenance.build_type != now.build_type) {
    return fmt::format("it was recorded by a {} build, and this is a {} build",
                       baseline.provenance.build_type, now.build_type);
  }
  if (baseline.ranks != ranks) {
    return fmt::format("it was recorded on {} ranks, and these are {}; --ranks {} makes them equal",
                       baseline.ranks, ranks, baseline.ranks);
  }
  return "";
}

std::vector<Straggler> stragglers(const MachineRun& run, const Baseline* baseline) {
  std::map<std::string, std::vector<const RankRates*>> ranks_of_node;
  for (const RankRates& rank : run.ranks) ranks_of_node[rank.node].push_back(&rank);
  std::vector<Unit> nodes;
  std::vector<Straggler> found;
  for (const auto& [node, ranks] : ranks_of_node) {
    Unit unit{fmt::format("node {}", node), std::vector<double>(run.of_ranks.size(), 0.0)};
    for (const RankRates* rank : ranks) {
      for (std::size_t i = 0; i < unit.rates.size(); ++i) {
        unit.rates[i] += rank->rates[i] / static_cast<double>(ranks.size());
      }
    }
    nodes.push_back(unit);
  }
  add_stragglers(nodes, run.of_ranks, found);
  std::vector<std::string> names;
  std::vector<std::size_t> of_cores;  // memory is the node's, and its ranks share it as it comes
  for (std::size_t i = 0; i < run.of_ranks.size(); ++i) {
    if (run.of_ranks[i].starts_with("memory")) continue;
    const RankRates& first = run.ranks.front();
    const bool beside_own = first.beside_own[i] != first.rates[i];
    of_cores.push_back(i);
    names.push_back(run.of_ranks[i] + (beside_own ? ", beside our own product" : ""));
  }
  for (const auto& [node, ranks] : ranks_of_node) {
    std::vector<Unit> units;
    for (const RankRates* rank : ranks) {
      Unit unit{fmt::format("rank {} on {}", rank->rank, node), {}, {}};
      for (std::size_t i : of_cores) {
        unit.rates.push_back(rank->beside_own[i]);
        unit.excused.push_back(as_recorded(run.of_ranks[i], rank->beside_own[i], baseline));
      }
      units.push_back(unit);
    }
    add_stragglers(units, names, found);
  }
  return found;
}

}  // namespace fourfold::inline bench::inline regress
