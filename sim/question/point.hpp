// A point is one question: this model, on this grid of this platform, with these options. It is
// what `fourfold` hands to `fourfold-replay`, as one JSON object.
#pragma once

#include <cstdint>
#include <string>

#include "platforms/platform.hpp"
#include "schedule/models/model.hpp"
#include "schedule/program/process_grid.hpp"
#include "schedule/program/step_options.hpp"
#include "sim/conditions/what_ifs.hpp"

namespace fourfold::inline sim::inline question {

struct Point {
  std::string platform;  // name or path
  Scales scales;         // what-if factors on the platform's facts
  std::string software;  // name or path; empty: the platform's default
  Model model;
  ProcessGrid grid;                  // its size is the number of devices
  std::int64_t global_batch = 8192;  // sequences
  StepOptions options;
  WhatIfs what_ifs;
};

std::string to_json(const Point& point);  // one line
// Throws std::runtime_error with a sentence on anything missing, unknown or impossible.
Point point_from_json(const std::string& text);

}  // namespace fourfold::inline sim::inline question
