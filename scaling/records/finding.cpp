// How well the estimate ranked what was simulated; see finding.hpp.
#include "scaling/records/finding.hpp"

namespace fourfold::inline scaling::inline records {
namespace {

// Estimated and simulated seconds of the candidates that have both.
struct Pairs {
  std::vector<double> estimated, simulated;
};
Pairs pairs(const Finding& finding) {
  Pairs pairs;
  for (std::size_t i = 0; i < finding.simulated.size(); ++i) {
    if (!finding.simulated[i]) continue;
    pairs.estimated.push_back(finding.search.feasible[i].estimate.outcome.total.value);
    pairs.simulated.push_back(finding.simulated[i]->outcome.total.value);
  }
  return pairs;
}

}  // namespace

std::optional<double> Finding::tau() const {
  const Pairs both = pairs(*this);
  if (both.simulated.size() < 2) return std::nullopt;
  return kendall_tau(both.estimated, both.simulated);
}

std::optional<double> Finding::regret() const {
  const Pairs both = pairs(*this);
  if (both.simulated.size() < 2) return std::nullopt;
  return top1_regret(both.estimated, both.simulated);
}

}  // namespace fourfold::inline scaling::inline records
