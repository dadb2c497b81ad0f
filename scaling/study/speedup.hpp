// How a row of a study scales against the fewest devices of its curve.
#pragma once

#include <string>

#include "scaling/study/study.hpp"

namespace fourfold::inline scaling::inline study {

// Against the series' fewest devices, the fastest of them: model flops a second, as models may grow
// with the devices.
struct Speedup {
  double speedup = 1.0, efficiency = 1.0;
  Seconds ideal;
};

// Of a row that is the study's.
Speedup speedup_of(const StudyRow& row, const Study& study);

// In per cent, of a point whose curve has others on fewer or more devices; else "-".
std::string efficiency_cell(const StudyRow& row, const Study& study);

// The row's curve: with its model, unless models grow with the devices.
std::string series_name(const StudyRow& row, const Study& study);

}  // namespace fourfold::inline scaling::inline study
