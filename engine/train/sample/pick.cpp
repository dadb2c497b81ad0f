// The inverse of a cumulative distribution, summed in double; see pick.hpp.
#include "engine/train/sample/pick.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace fourfold::inline engine::inline train::inline sample {

namespace {

// With what is no number out of reach, so that all have an order.
std::vector<float> in_order(std::span<const float> logits) {
  std::vector<float> sound(logits.begin(), logits.end());
  std::ranges::replace_if(
      sound, [](float logit) { return std::isnan(logit); },
      -std::numeric_limits<float>::infinity());
  return sound;
}

// How many of the weights, which fall, have this share of all together.
std::size_t nucleus(const std::vector<double>& falling, double share) {
  const double asked = share * std::accumulate(falling.begin(), falling.end(), 0.0);
  double sum = 0.0;
  std::size_t kept = 0;
  do {
    sum += falling[kept++];
  } while (kept < falling.size() && sum < asked);
  return kept;
}

// Takes their weight from all words but those that are drawn among; of equals the first stay.
void leave_likeliest(const std::vector<float>& logits, const Drawing& drawing,
                     std::vector<double>& weights) {
  const auto k = static_cast<std::size_t>(drawing.top_k);
  const std::size_t among = k > 0 ? std::min(k, logits.size()) : logits.size();
  if (among == logits.size() && drawing.top_p >= 1.0) return;
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(among), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
                    });
  std::vector<double> falling;
  for (std::size_t i = 0; i < among; ++i) falling.push_back(weights[order[i]]);
  const std::size_t kept = drawing.top_p < 1.0 ? nucleus(falling, drawing.top_p) : among;
  for (std::size_t i = kept; i < order.size(); ++i) weights[order[i]] = 0.0;
}

}  // namespace

std::int32_t pick(std::span<const float> of_words, const Drawing& drawing, double number) {
  const std::vector<float> logits = in_order(of_words);
  const auto likeliest = std::ranges::max_element(logits);
  const auto best = static_cast<std::int32_t>(likeliest - logits.begin());
  if (drawing.temperature <= 0.0) return best;
  std::vector<double> weights;
  weights.reserve(logits.size());
  for (const float logit : logits) {
    weights.push_back(std::exp((static_cast<double>(logit) - static_cast<double>(*likeliest)) /
                               drawing.temperature));
  }
  leave_likeliest(logits, drawing, weights);
  std::vector<double>& sums = weights;
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  const auto drawn = std::upper_bound(sums.begin(), sums.end(), number * sums.back());
  // Rounding may leave the last sum at the number itself.
  return drawn == sums.end() ? best : static_cast<std::int32_t>(drawn - sums.begin());
}

double next_number(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) / 9007199254740992.0;  // 53 bits
}

}  // namespace fourfold::inline engine::inline train::inline sample
