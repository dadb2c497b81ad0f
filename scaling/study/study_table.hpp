// A study as a table for people and as CSV for plots and spreadsheets.
#pragma once

#include <string>

#include "scaling/study/study.hpp"
#include "scaling/words/text_table.hpp"
#include "scaling/words/throughput_text.hpp"

namespace fourfold::inline scaling::inline study {

// In which rates of its rows are told.
RateUnit rate_unit(const Study& study);

std::string study_table(const Study& study, Width width = Width::page);
// The main table for a paper.
std::string study_latex(const Study& study);

// The same columns and more, in base units, for plots and spreadsheets.
std::string study_csv(const Study& study);

}  // namespace fourfold::inline scaling::inline study
