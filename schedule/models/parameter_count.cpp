// Records the start of a step and sums up its weights; see parameter_count.hpp.
#include "schedule/models/parameter_count.hpp"

#include "schedule/models/gpt.hpp"
#include "schedule/models/layer_pattern.hpp"

namespace fourfold::inline schedule::inline models {

namespace {

// The weights that a model declares, and no state of an optimizer.
Program declared(const Model& model) {
  StepOptions options;
  options.phase = Phase::evaluation;
  Gpt gpt(model, options, {});
  gpt.record({});
  return gpt.program();
}

}  // namespace

double parameter_count(const Model& model) {
  const ShortStack stack = short_stack(model);
  const Program program = declared(stack.model);
  std::int64_t count = 0;
  for (const Parameter& parameter : program.parameters) {
    const Value& weight = program[parameter.weight];
    count += weight.shape.local_elements({}, {}) * stack.times_of(weight.label.layer);
  }
  return static_cast<double>(count);
}

std::vector<std::int64_t> product_weights(const Model& model) {
  const Program program = declared(short_stack(model).model);
  std::vector<std::int64_t> weights;
  for (const Parameter& parameter : program.parameters) {
    const Value& weight = program[parameter.weight];
    const bool in_product =
        weight.weight == WeightKind::matrix || weight.weight == WeightKind::residual_matrix;
    if (in_product && weight.label.layer == 0)
      weights.push_back(weight.shape.local_elements({}, {}));
  }
  return weights;
}

}  // namespace fourfold::inline schedule::inline models
