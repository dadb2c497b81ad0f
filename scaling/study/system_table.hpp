// A study of training systems as a table: for each its configuration, seconds and what limits them.
#pragma once

#include <string>

#include "scaling/study/study.hpp"
#include "scaling/words/text_table.hpp"

namespace fourfold::inline scaling::inline study {

// Whether the rows are of more systems than one.
bool compares_systems(const Study& study);

// The system with what was typed instead of its own options: "axonn-4d + overlap none".
std::string system_label(const Record& record);

// Instead of a grid.
inline constexpr const char* fits_nowhere = "fits nowhere";

TextTable system_rows(const Study& study);
// Of systems on one point: what was chosen and taken for granted, and with what other values
// another would be the best. Empty for others.
std::string choices_of_systems(const Study& study);
// With what it says below.
std::string system_table(const Study& study, Width width);

}  // namespace fourfold::inline scaling::inline study
