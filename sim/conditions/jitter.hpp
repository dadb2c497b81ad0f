// Jitter: compute steps that take a little more or less time than they should, by chance.
#pragma once

#include <array>
#include <cstdint>

#include "support/random.hpp"

namespace fourfold::inline sim::inline conditions {

// Every rank draws a factor for every compute step (what it computes between two posts or waits),
// independently of all others. Factors are lognormal: mean 1, never below 0, with the standard
// deviation asked for. They are taken from 4,096 equally likely quantiles, which bounds them at
// about 3.7 standard deviations and makes a draw a look-up; the place in the table of draws is
// (rank, step), so that nothing is stored and any order of asking gives the same bits.
class Jitter {
 public:
  // None: all factors are 1.
  Jitter() = default;
  // `deviation` of 0.02 is 2 %. Throws std::invalid_argument unless it is above 0 and at most 1.
  Jitter(double deviation, std::uint64_t seed);

  bool none() const { return deviation_ == 0.0; }
  double deviation() const { return deviation_; }
  double factor(std::int64_t rank, std::int64_t step) const {
    if (none()) return 1.0;
    const std::uint64_t draw =
        random_at(seed_, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(step));
    return quantiles_[draw >> 52];
  }

 private:
  static constexpr std::size_t quantile_count = 4096;  // the upper 12 bits of a draw

  double deviation_ = 0.0;
  std::uint64_t seed_ = 0;
  std::array<double, quantile_count> quantiles_{};
};

}  // namespace fourfold::inline sim::inline conditions
