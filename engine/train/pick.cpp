// The inverse of a cumulative distribution, summed in double; see pick.hpp.
#include "engine/train/pick.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fourfold {

std::int32_t pick(std::span<const float> logits, double temperature, double number) {
  const auto likeliest = std::max_element(logits.begin(), logits.end());
  const auto best = static_cast<std::int32_t>(likeliest - logits.begin());
  if (temperature <= 0.0) return best;
  std::vector<double> sums(logits.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    sum +=
        std::exp((static_cast<double>(logits[i]) - static_cast<double>(*likeliest)) / temperature);
    sums[i] = sum;
  }
  const auto drawn = std::upper_bound(sums.begin(), sums.end(), number * sum);
  // Rounding may leave the last sum at the number itself.
  return drawn == sums.end() ? best : static_cast<std::int32_t>(drawn - sums.begin());
}

double next_number(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) / 9007199254740992.0;  // 53 bits
}

}  // namespace fourfold
