// A point as a JSON value, for what contains one: the question to fourfold-replay, and the records.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/json_object.hpp"
#include "sim/point.hpp"

namespace fourfold {

nlohmann::json json_of(const Point& point);
nlohmann::json json_of(const Model& model);
nlohmann::json json_of(const Scales& scales);
nlohmann::json json_of(const StepOptions& options);
nlohmann::json json_of(const WhatIfs& what_ifs);
// These throw std::runtime_error with a sentence on anything missing, unknown or impossible.
Point read_point(JsonObject object);
StepOptions read_options(JsonObject object);
Scales read_scales(const nlohmann::json& value);
WhatIfs read_what_ifs(JsonObject object);

}  // namespace fourfold
