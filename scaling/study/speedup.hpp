// How the rows of a study scale against the fewest devices of their curve.
#pragma once

#include <string>
#include <vector>

#include "scaling/study/study.hpp"

namespace fourfold::inline scaling::inline study {

// Of a point, by the median of its repetitions, against the curve's fewest devices, the fastest
// point on them: model flops a second, as models may grow with the devices.
struct Speedup {
  std::string series;  // the curve
  double speedup = 1.0, efficiency = 1.0;
  // What perfect scaling from the fewest devices would give.
  Seconds ideal;
  FlopsPerSecond ideal_rate;
  bool compared = false;  // the curve has other numbers of devices
};

// Of each row of the study.
std::vector<Speedup> speedups(const Study& study);

// In per cent, of a point whose curve has others on fewer or more devices; else "-".
std::string efficiency_cell(const Speedup& speedup);

}  // namespace fourfold::inline scaling::inline study
