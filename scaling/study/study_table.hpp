// A study as a table for people and as CSV for plots and spreadsheets.
#pragma once

#include <string>

#include "scaling/study/study.hpp"
#include "scaling/text/text_table.hpp"
#include "scaling/text/throughput_text.hpp"

namespace fourfold {

// In which rates of its rows are told.
RateUnit rate_unit(const Study& study);

std::string study_table(const Study& study, Width width = Width::page);
// The same columns and more, in base units, for plots and spreadsheets.
std::string study_csv(const Study& study);

}  // namespace fourfold
