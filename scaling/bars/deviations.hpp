// How far projections lie from what was published, as numbers about many rows.
#pragma once

#include <cstddef>
#include <vector>

namespace fourfold::inline scaling::inline bars {

// Of deviations, projected / published - 1: -0.2 is 20 % too fast. All 0 without any.
struct Deviations {
  std::size_t count = 0;
  double mean_absolute = 0.0;
  double bias = 0.0;    // mean, with its sign
  double median = 0.0;  // of the absolute deviations, and their 90th percentile
  double ninetieth = 0.0;
  std::size_t worst = 0;  // index of the largest absolute deviation
};
Deviations deviations_of(const std::vector<double>& deviations);

// With linear interpolation: the 0.5 of 1, 2, 4, 8 is 3. Throws std::invalid_argument without
// values.
double quantile(std::vector<double> values, double share);

}  // namespace fourfold::inline scaling::inline bars
