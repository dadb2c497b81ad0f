// Jitter: compute steps that take a little more or less time than they should, by chance.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cost/timed_program.hpp"
#include "support/random.hpp"

namespace fourfold::inline sim::inline conditions {

// Every rank draws a factor for every compute step (what it computes between two posts or waits),
// independently of all others. Factors are lognormal: mean 1, never below 0, with the standard
// deviation asked for. They are taken from 4,096 equally likely quantiles, which bounds them at
// about 3.7 standard deviations and makes a draw a look-up; the place in the table of draws is
// (rank, step), so that nothing is stored and any order of asking gives the same bits.
// Of a machine, every rank draws once how far its device is from the median one, and at each step
// what this repetition takes: normal values, from 65,536 quantiles, of what the step says of
// itself.
class Jitter {
 public:
  // None: all factors are 1.
  Jitter() = default;
  // `deviation` of 0.02 is 2 %. Throws std::invalid_argument unless it is above 0 and at most 1.
  Jitter(double deviation, std::uint64_t seed);

  static Jitter of_machine(std::uint64_t seed);

  bool none() const { return quantiles_.empty(); }
  bool is_of_machine() const { return !none() && deviation_ == 0.0; }
  double deviation() const { return deviation_; }
  double factor(std::int64_t rank, std::int64_t step) const {
    return none() ? 1.0 : draw(rank, step);
  }
  // What a step of so many seconds takes.
  double seconds(std::int64_t rank, std::int64_t step, double nominal,
                 const StepVariation& varies) const {
    if (!is_of_machine()) return nominal * factor(rank, step);
    const double longer =
        varies.deviation.value * draw(rank, of_device) + varies.repetition.value * draw(rank, step);
    return nominal + longer > 0.0 ? nominal + longer : 0.0;
  }

 private:
  static constexpr std::int64_t of_device = -1;  // the place of a rank's own draw

  double draw(std::int64_t rank, std::int64_t step) const {
    const std::uint64_t draw =
        random_at(seed_, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(step));
    return quantiles_[draw >> shift_];
  }

  double deviation_ = 0.0;  // of machines: none of its own
  std::uint64_t seed_ = 0;
  int shift_ = 0;  // to the upper bits of a draw
  std::vector<double> quantiles_;
};

}  // namespace fourfold::inline sim::inline conditions
