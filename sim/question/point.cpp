// Points to JSON and back; see point.hpp. Objects of nlohmann::json keep their keys sorted, so
// equal points give equal text.
#include "sim/question/point.hpp"

#include <stdexcept>

#include "sim/question/point_json.hpp"
#include "support/json_object.hpp"

namespace fourfold {
namespace {

using nlohmann::json;

Model read_model_values(JsonObject object) {
  Model model;
  model.name = object.text("name");
  model.layers = object.positive("layers");
  model.hidden = object.positive("hidden");
  model.heads = object.positive("heads");
  model.sequence = object.positive("sequence");
  model.vocabulary = object.positive("vocabulary");
  object.finish();
  if (const std::string why = excess(model); !why.empty())
    throw std::runtime_error("model: " + why);
  return model;
}

}  // namespace

json json_of(const Model& model) {
  return {{"name", model.name},   {"layers", model.layers},     {"hidden", model.hidden},
          {"heads", model.heads}, {"sequence", model.sequence}, {"vocabulary", model.vocabulary}};
}

json json_of(const Scales& scales) {
  json object = json::object();
  for (const auto& [key, factor] : scales) object[key] = factor;
  return object;
}

json json_of(const StepOptions& options) {
  return {{"micro_batches", options.micro_batches},
          {"precision", name(options.precision)},
          {"recompute", name(options.recompute)},
          {"overlap",
           {{"all_reduce", options.overlap.all_reduce},
            {"reduce_scatter", options.overlap.reduce_scatter},
            {"all_gather", options.overlap.all_gather},
            {"recompute_gather", options.overlap.recompute_gather}}},
          {"in_flight_blocks", options.in_flight_blocks},
          {"weight_gather", name(options.weight_gather)},
          {"gradient_reduction", name(options.gradient_reduction)},
          {"data_reduction", name(options.data_reduction)},
          {"grad_reduce_precision_z", name(options.reduce_precision_z())},
          {"grad_reduce_precision_data", name(options.reduce_precision_data())}};
}

json json_of(const Point& point) {
  return {{"platform", point.platform},
          {"scales", json_of(point.scales)},
          {"model", json_of(point.model)},
          {"grid", point.grid.str()},
          {"global_batch_sequences", point.global_batch},
          {"options", json_of(point.options)},
          {"what_ifs", json_of(point.what_ifs)}};
}

StepOptions read_options(JsonObject object) {
  StepOptions options;
  options.micro_batches = object.positive("micro_batches");
  const std::vector<Precision> precisions{Precision::bf16, Precision::fp32};
  options.precision = object.choice("precision", precisions);
  options.recompute = object.choice<Recompute>("recompute", {Recompute::none, Recompute::full});
  JsonObject overlap = object.object("overlap");
  options.overlap.all_reduce = overlap.flag("all_reduce");
  options.overlap.reduce_scatter = overlap.flag("reduce_scatter");
  options.overlap.all_gather = overlap.flag("all_gather");
  options.overlap.recompute_gather = overlap.flag("recompute_gather");
  overlap.finish();
  options.in_flight_blocks = object.positive("in_flight_blocks");
  if (options.in_flight_blocks > most_in_flight_blocks) {
    throw std::runtime_error("options: " + std::to_string(options.in_flight_blocks) +
                             " blocks cannot be in flight; 'in_flight_blocks' must be at most " +
                             std::to_string(most_in_flight_blocks));
  }
  options.weight_gather = object.choice<WeightGather>(
      "weight_gather", {WeightGather::per_micro_batch, WeightGather::keep});
  options.gradient_reduction = object.choice<GradientReduction>(
      "gradient_reduction", {GradientReduction::per_micro_batch, GradientReduction::accumulated});
  options.data_reduction = object.choice<DataReduction>(
      "data_reduction", {DataReduction::after_backward, DataReduction::beside_backward});
  options.grad_reduce_precision_z = object.choice("grad_reduce_precision_z", precisions);
  options.grad_reduce_precision_data = object.choice("grad_reduce_precision_data", precisions);
  object.finish();
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
  point.model = read_model_values(object.object("model"));
  point.grid = ProcessGrid::parse(object.text("grid"));
  point.global_batch = object.positive("global_batch_sequences");
  if (point.global_batch > most_batch_tokens / point.model.sequence) {
    throw std::runtime_error("point: a batch of " + std::to_string(point.global_batch) +
                             " sequences has more than the " + std::to_string(most_batch_tokens) +
                             " tokens that are counted");
  }
  point.options = read_options(object.object("options"));
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

}  // namespace fourfold
