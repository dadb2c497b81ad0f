// Divisors in pairs, up to the square root; see divisors.hpp.
#include "support/divisors.hpp"

#include <algorithm>

namespace fourfold::inline support {

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> result;
  for (std::int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    result.push_back(d);
    if (d * d != number) result.push_back(number / d);
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace fourfold::inline support
