// A point as a JSON value, for what contains one: the question to fourfold-replay, and the records.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/json_object.hpp"
#include "sim/point.hpp"

namespace fourfold {

nlohmann::json json_of(const Point& point);
nlohmann::json json_of(const StepOptions& options);
// Throws std::runtime_error with a sentence on anything missing, unknown or impossible.
Point read_point(JsonObject object);

}  // namespace fourfold
