// How much each choice of a space matters: Shapley shares of a function's variance over the points
// of the space, by exact enumeration of all subsets of the choices.
#pragma once

#include <cstdint>
#include <vector>

namespace fourfold::inline sim::inline estimate {

// A function on some of the points of a space: of choice i, `places[n * choices + i]` is what point
// n chose. Each point stands once, and all weigh the same.
struct Observations {
  std::vector<std::int32_t> choices;  // how many there are to choose from, by choice
  std::vector<std::uint16_t> places;
  std::vector<double> values;
};

// Most choices: their subsets are all looked at.
inline constexpr std::size_t most_choices = 16;

// The value of a set S of choices is what knowing them explains of the variance, Var(E[f | S]).
// A choice's Shapley share is the mean, over all orders in which the choices can become known, of
// what it adds; the shares sum to the variance. On a whole product of choices this is the usual
// decomposition of variance with each interaction split evenly; on a part of one it is the same
// definition, and choices that go together share what they explain.
struct Influence {
  double mean = 0.0;
  double variance = 0.0;
  std::vector<double> shapley;  // by choice, of the variance: sum to 1, or all 0 where it is 0
  std::vector<double> alone;    // by choice, of the variance: that of the choice known first
  // The mean of f, by choice and place; NaN where no point is.
  std::vector<std::vector<double>> means;
};

// Throws std::invalid_argument on more choices than most_choices.
Influence influence(const Observations& observations);

}  // namespace fourfold::inline sim::inline estimate
