// A point as a JSON value, for what contains one: the question to fourfold-replay, and the records.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/conditions/what_ifs_json.hpp"
#include "sim/question/point.hpp"
#include "support/json_object.hpp"

namespace fourfold::inline sim::inline question {

nlohmann::json json_of(const Point& point);
nlohmann::json json_of(const Model& model);
nlohmann::json json_of_scales(const Scales& scales);
nlohmann::json json_of(const StepOptions& options);
// These throw std::runtime_error with a sentence on anything missing, unknown or impossible.
Point read_point(JsonObject object);
StepOptions read_options(JsonObject object);
Scales read_scales(const nlohmann::json& value);

}  // namespace fourfold::inline sim::inline question
