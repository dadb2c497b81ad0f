// The stopping rule of the guided simulation; see verdict.hpp.
#include "scaling/records/verdict.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace fourfold::inline scaling::inline records {

const char* name(Verdict verdict) {
  constexpr const char* names[]{"go_on", "settled", "exhausted", "capped"};
  return names[static_cast<int>(verdict)];
}

Verdict judge(const std::vector<double>& estimated,
              const std::vector<std::optional<double>>& simulated, const StoppingRule& rule) {
  const std::size_t tried = simulated.size();
  if (tried >= estimated.size()) return Verdict::exhausted;
  std::int64_t done = 0;
  double least_ratio = std::numeric_limits<double>::infinity();
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < tried; ++i) {
    if (!simulated[i]) continue;
    ++done;
    least_ratio = std::min(least_ratio, *simulated[i] / estimated[i]);
    best = std::min(best, *simulated[i]);
  }
  if (done >= std::max<std::int64_t>(rule.at_least, 1) &&
      estimated[tried] * least_ratio * (1.0 - rule.margin) >= best) {
    return Verdict::settled;
  }
  return static_cast<std::int64_t>(tried) >= rule.at_most ? Verdict::capped : Verdict::go_on;
}

}  // namespace fourfold::inline scaling::inline records
