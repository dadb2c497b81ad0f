// Holds a run to a baseline, and its nodes to each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/regress/baseline.hpp"

namespace fourfold::inline bench::inline regress {

enum class Standing : std::uint8_t {
  fine,
  faster,   // above the upper bound: worth a new baseline
  slower,   // a regression
  changed,  // a projection that is not the same, bit by bit
  missing,  // not measured in this run
};
const char* name(Standing standing);

struct Judgement {
  std::string name;
  Reference reference;
  Scale scale = Scale::absolute;
  double value = 0.0, judged = 0.0;
  double recorded = 0.0;  // as `judged`
  double change = 0.0;    // on its scale: -0.1 is 10 % slower
  // In which the ratio to the reference lies, by the order of the rounds of both runs (95 %).
  double least_ratio = 0.0, most_ratio = 0.0;
  double chance = 1.0;  // that samples of an unchanged machine lie so low (chance_of_lower)
  Standing standing = Standing::fine;
};

// Slower is what lies below the lower bound by its median, and by the rank test, too, with at most
// this chance for a machine that has not changed.
inline constexpr double least_chance = 0.01;
std::vector<Judgement> judge(const Baseline& baseline, const MachineRun& run);

// Why runs of the two cannot be compared; empty if they can.
std::string incomparable(const Baseline& baseline, const Provenance& now, std::int64_t ranks);

// A node, or a rank beside those of its node, that is slower than its peers.
struct Straggler {
  std::string who;   // "node frontier00017" or "rank 3 on frontier00017"
  std::string what;  // the quantity that is furthest behind
  double rate = 0.0, median_of_peers = 0.0;
};
inline constexpr double share_of_peers = 0.9;
// At most one finding each. Nodes are compared by the mean of their ranks; ranks of a node beside
// their own products, for what else runs on a core takes from both. Where there is a baseline, a
// rank that reaches it is not behind: a process may be lucky with its pages by a tenth, which makes
// no straggler of its peer.
std::vector<Straggler> stragglers(const MachineRun& run, const Baseline* baseline = nullptr);

}  // namespace fourfold::inline bench::inline regress
