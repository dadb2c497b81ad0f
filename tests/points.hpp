// Points of what is made up for them, and one whose numbers do not matter.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/models/model_file.hpp"
#include "sim/question/point.hpp"
#include "tests/schedule/orders.hpp"

namespace fourfold::tests {

inline Point made_up_point(const std::string& platform, const Model& model, const ProcessGrid& grid,
                           std::int64_t global_batch = Point().global_batch,
                           const StepOptions& options = {}) {
  return {platform, {}, "", model, grid, global_batch, options, {}};
}

inline Point some_point() {
  return made_up_point("frontier", read_model("gpt-5b"), ProcessGrid(2, 2, 2, 2), 64);
}

}  // namespace fourfold::tests
