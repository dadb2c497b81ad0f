// The kinds of figures that studies have, and the data that each is drawn from.
#pragma once

#include <string>
#include <vector>

#include "scaling/study/study.hpp"

namespace fourfold::inline scaling::inline study {

// The name is also that of its CSV, its pictures and its script (plots/NAME.gp).
struct FigureKind {
  const char* name;
  const char* meaning;
};

const std::vector<FigureKind>& figure_kinds();

// Throws std::runtime_error that names the nearest known one.
const FigureKind& figure_named(const std::string& name);

// What the kind is drawn from, with a line of column names; empty if the kind is drawn from
// summary.csv.
std::string figure_csv(const std::string& kind, const Study& study);

// The text as a cell of a CSV, in one line: commas separate cells, quotes and backslashes are those
// of readers, and a cell that begins with = is calculated by a spreadsheet, unless a blank stands
// before.
std::string csv_cell(const std::string& text);

// Seconds of a batch in what the study gives: days of its run, or seconds themselves.
double in_unit(const StudyRow& row, Seconds seconds, const Study& study);
// "days for 2.00T tokens", "seconds per batch".
std::string unit_text(const Study& study);

// A table of days, speed-up and efficiency; empty if the study has no tokens.
std::string run_table(const Study& study);
// Of a study of all grids: how many, and how well the estimate ranks them; else empty.
std::string ranks_text(const Study& study);

}  // namespace fourfold::inline scaling::inline study
