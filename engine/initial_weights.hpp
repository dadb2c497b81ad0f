// The weights training starts from: a pure function of seed, parameter and position, so that every
// grid starts alike and each device can fill its own blocks.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/model.hpp"

namespace fourfold {

// GPT-2's: normal with standard deviation 0.02, divided by sqrt(2 layers) for the two products that
// end in a residual; scales 1; biases and offsets 0.
double initial_weight(const Model& model, const std::string& parameter, std::int64_t row,
                      std::int64_t col, std::uint64_t seed);

// A standard normal number that depends on nothing but its arguments.
double normal_number(std::uint64_t seed, const std::string& stream, std::uint64_t index);

}  // namespace fourfold
