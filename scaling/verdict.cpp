// The stopping rule of the guided simulation; see verdict.hpp.
#include "scaling/verdict.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace fourfold {

const char* name(Verdict verdict) {
  constexpr const char* names[]{"go_on", "settled", "exhausted", "capped"};
  return names[static_cast<int>(verdict)];
}

Verdict judge(const std::vector<double>& estimated, const std::vector<double>& simulated,
              const StoppingRule& rule) {
  const std::size_t done = simulated.size();
  if (done >= estimated.size()) return Verdict::exhausted;
  if (static_cast<std::int64_t>(done) >= std::max<std::int64_t>(rule.at_least, 1)) {
    double least_ratio = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < done; ++i) {
      least_ratio = std::min(least_ratio, simulated[i] / estimated[i]);
    }
    const double best = *std::min_element(simulated.begin(), simulated.end());
    if (estimated[done] * least_ratio * (1.0 - rule.margin) >= best) return Verdict::settled;
  }
  return static_cast<std::int64_t>(done) >= rule.at_most ? Verdict::capped : Verdict::go_on;
}

}  // namespace fourfold
