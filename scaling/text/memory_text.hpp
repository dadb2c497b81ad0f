// The memory of a point as text: whether it fits, by role and stage, the moment of its peak, and a
// drawing of it over the step.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "platforms/platform.hpp"
#include "sim/explain/memory_course.hpp"

namespace fourfold::inline scaling::inline text {

// "Memory per device 28.2 GB of ...: fits (97 %)", and a table of the stages.
std::string memory_text(const MemoryCourse& course, const Platform& platform);

// Over the step, with a letter for each role.
std::string memory_drawing(const MemorySeries& series);

// A row for each moment, with a line of column names; GB.
std::string memory_csv(const MemorySeries& series);

nlohmann::json json_of(const MemoryCourse& course, const Platform& platform);

}  // namespace fourfold::inline scaling::inline text
