// A study as a table for people and as CSV for plots and spreadsheets.
#pragma once

#include <string>

#include "scaling/study/study.hpp"

namespace fourfold {

std::string study_table(const Study& study);
// The same columns and more, in base units, for plots and spreadsheets.
std::string study_csv(const Study& study);

}  // namespace fourfold
