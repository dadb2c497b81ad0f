// Which rows of a study are one point, answered again with other seeds.
#pragma once

#include <functional>
#include <vector>

#include "scaling/study/study.hpp"

namespace fourfold::inline scaling::inline study {

// Of one point, in the order of the study.
using Runs = std::vector<const StudyRow*>;

// Of each point, in the order of their first rows. Points are told apart by machine, devices and
// model, by system, grid and micro-batches where the campaign states them, and by label and value.
std::vector<Runs> runs_of(const Study& study);

double median_of(const Runs& runs, const std::function<double(const StudyRow&)>& number);
Seconds median_seconds(const Runs& runs);
// Model flops a second, which also compare models that grow with the devices.
FlopsPerSecond median_rate(const Runs& runs);

}  // namespace fourfold::inline scaling::inline study
