// Drawing one word from a model's logits.
#pragma once

#include <cstdint>
#include <random>
#include <span>

namespace fourfold::inline engine::inline train::inline sample {

// How words are drawn.
struct Drawing {
  double temperature = 1.0;  // 0: the likeliest word, the first of equals
  std::int64_t top_k = 0;    // among so many of the likeliest, the first of equals; 0: among all
  double top_p = 1.0;  // of these, among the fewest that have this share together; 1: among all
};

// A word with probability softmax(logits / temperature), from a number in [0, 1). First the
// temperature, then top_k, then top_p. A logit that is no number is of a word that is not drawn.
std::int32_t pick(std::span<const float> logits, const Drawing& drawing, double number);

// In [0, 1), the same on every machine.
double next_number(std::mt19937_64& random);

}  // namespace fourfold::inline engine::inline train::inline sample
