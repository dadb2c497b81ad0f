// What sweeps change of the points of a study: as lines of a figure, and as a table.
#pragma once

#include <string>
#include <vector>

#include "scaling/study/study.hpp"

namespace fourfold::inline scaling::inline study {

// What tells a row from others besides machine and label: the model, where some devices train
// several; the system, where there are several; grid and micro-batches, where points state others;
// and devices, unless they are an axis or all alike.
std::string told_apart(const StudyRow& row, const Study& study, bool devices);

// The CSV of the figure lines. Each line has its own points, and begins at its origin, unless it
// has a point there. The unchanged point alone is no line; points without a place on the axis are
// left out.
std::string lines_csv(const Study& study);

// What the axis of the figure lines is: as the campaign says, or the key that its last sweep with
// numbers sets, or devices.
std::string axis_text(const Study& study);

// The label of what the figure lines compares with: the first of each point.
std::string reference_text(const Study& study);

// A table of a study with sweeps: labels, and what each does against the first of its point. Empty
// if no row has a label, or none is compared and none repeated.
std::string sweep_table(const Study& study);

}  // namespace fourfold::inline scaling::inline study
