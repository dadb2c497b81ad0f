// The inverse of a cumulative distribution, summed in double; see pick.hpp.
#include "engine/train/sample/pick.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace fourfold {

namespace {

// The logits with all but the k largest out of reach; of equals the first are kept.
std::vector<float> k_largest(std::span<const float> logits, std::size_t k) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
                    });
  std::vector<float> kept(logits.size(), -std::numeric_limits<float>::infinity());
  for (std::size_t i = 0; i < k; ++i) kept[order[i]] = logits[order[i]];
  return kept;
}

}  // namespace

std::int32_t pick(std::span<const float> logits, const Drawing& drawing, double number) {
  const auto k = static_cast<std::size_t>(drawing.top_k);
  if (k > 0 && k < logits.size()) {
    return pick(k_largest(logits, k), {.temperature = drawing.temperature}, number);
  }
  const auto likeliest = std::max_element(logits.begin(), logits.end());
  const auto best = static_cast<std::int32_t>(likeliest - logits.begin());
  if (drawing.temperature <= 0.0) return best;
  std::vector<double> sums(logits.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    sum += std::exp((static_cast<double>(logits[i]) - static_cast<double>(*likeliest)) /
                    drawing.temperature);
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
