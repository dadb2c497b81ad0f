// The weights training starts from: a pure function of seed, parameter and position, so that every
// grid starts alike and each device can fill its own blocks.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/program/program.hpp"

namespace fourfold::inline engine {

// Standard normal numbers, each a pure function of seed, name and index.
class NormalNumbers {
 public:
  NormalNumbers(std::uint64_t seed, const std::string& name);
  double operator[](std::uint64_t index) const;

 private:
  std::uint64_t key_;
};

// One parameter's, GPT-2's: normal with standard deviation 0.02, divided by sqrt(2 layers) for the
// two products that end in the residual stream; scales 1; biases and offsets 0.
class InitialWeights {
 public:
  InitialWeights(WeightKind kind, const std::string& parameter, std::int64_t layers,
                 std::uint64_t seed);
  double operator()(std::int64_t row, std::int64_t col) const;

 private:
  WeightKind kind_;
  NormalNumbers numbers_;
  double deviation_;
};

}  // namespace fourfold::inline engine
