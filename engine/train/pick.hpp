// Drawing one word from a model's logits.
#pragma once

#include <cstdint>
#include <random>
#include <span>

namespace fourfold {

// A word with probability softmax(logits / temperature), from a number in [0, 1); the likeliest
// one, the first of equals, at temperature 0.
std::int32_t pick(std::span<const float> logits, double temperature, double number);

// In [0, 1), the same on every machine.
double next_number(std::mt19937_64& random);

}  // namespace fourfold
