// Points to JSON and back; see point.hpp. Objects of nlohmann::json keep their keys sorted, so
// equal points give equal text.
#include "sim/question/point.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "sim/question/point_json.hpp"
#include "support/field_json.hpp"
#include "support/json_object.hpp"

namespace fourfold::inline sim::inline question {
namespace {

using nlohmann::json;

Model read_model_values(const JsonObject& object) {
  Model model;
  model_record_fields().set(model, read_fields(object, model_record_fields().facts()));
  if (const std::string why = contradiction(model); !why.empty()) object.fail(why);
  return model;
}

}  // namespace

json json_of(const Model& model) {
  return json_of_values(model_record_fields().values(model));
}

json json_of_scales(const Scales& scales) {
  json object = json::object();
  for (const auto& [key, factor] : scales) object[key] = factor;
  return object;
}

json json_of(const StepOptions& options) {
  return json_of_values(step_fields().values(options));
}

json json_of(const Point& point) {
  json object{{"platform", point.platform},
              {"scales", json_of_scales(point.scales)},
              {"model", json_of(point.model)},
              {"grid", point.grid.str()},
              {"global_batch_sequences", point.global_batch},
              {"options", json_of(point.options)},
              {"what_ifs", json_of(point.what_ifs)}};
  if (!point.software.empty()) object["software"] = point.software;
  if (!point.options.trains()) object["phase"] = row_of(point.options.phase).name;
  return object;
}

StepOptions read_options(JsonObject object) {
  StepOptions options;
  step_fields().set(options, read_fields(std::move(object), step_fields().facts()));
  return options;
}

Scales read_scales(const json& value) {
  constexpr double most = 1e6;  // a machine that differs more is another one, or a slip
  Scales scales;
  JsonObject object(value, "scales");
  for (const auto& item : value.items()) {
    const double factor = object.number(item.key());
    if (factor < 1.0 / most || factor > most) {
      throw std::runtime_error("scales: the factor on '" + item.key() +
                               "' must be from 0.000001 to "
                               "1000000");
    }
    scales[item.key()] = factor;
  }
  return scales;
}

Point read_point(JsonObject object) {
  Point point;
  point.platform = object.text("platform");
  point.scales = read_scales(object.get("scales"));
  if (object.has("software")) point.software = object.text("software");
  point.model = read_model_values(object.object("model"));
  point.grid = ProcessGrid::parse(object.text("grid"));
  point.global_batch = object.positive("global_batch_sequences");
  if (point.global_batch > most_batch_tokens / point.model.sequence) {
    throw std::runtime_error("point: a batch of " + std::to_string(point.global_batch) +
                             " sequences has more than the " + std::to_string(most_batch_tokens) +
                             " tokens that are counted");
  }
  point.options = read_options(object.object("options"));
  if (object.has("phase")) point.options.phase = phase_named(object.text("phase"));
  if (object.has("what_ifs")) point.what_ifs = read_what_ifs(object.object("what_ifs"));
  object.finish();
  return point;
}

std::string to_json(const Point& point) {
  return json_of(point).dump();
}

Point point_from_json(const std::string& text) {
  const json value = parse_json(text, "the point");
  try {
    return read_point(JsonObject(value, "point"));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(std::string("point: ") + error.what());
  }
}

}  // namespace fourfold::inline sim::inline question
