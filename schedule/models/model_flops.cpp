// Counts what a recorded forward pass multiplies; see model_flops.hpp.
#include "schedule/models/model_flops.hpp"

#include "schedule/models/gpt.hpp"
#include "schedule/models/layer_pattern.hpp"

namespace fourfold::inline schedule::inline models {

namespace {

// What a layer of a model does for a token, in the mean of its layers.
struct LayerWork {
  double weights = 0.0;  // that are in products
  double columns = 0.0;  // of the heads of queries
  double seen = 0.0;     // tokens of a sequence that fit a column's window
};

LayerWork work_of_layer(const Model& model) {
  const ShortStack stack = short_stack(model);
  StepOptions options;
  options.phase = Phase::evaluation;
  Gpt gpt(stack.model, options, {});
  gpt.record({});
  gpt.record({StepPart::forward, 0, true, true});
  const Program program = gpt.program();
  std::int64_t weights = 0, columns = 0;
  double seen = 0.0;
  for (const Op& op : program.ops) {
    if (op.outputs.empty() || program[op.outputs[0]].label.layer == -1) continue;
    const Value& result = program[op.outputs[0]];
    const std::int64_t times = stack.times_of(result.label.layer);
    if (op.kind == OpKind::gemm) {
      weights += times * program[op.inputs[1]].shape.local_elements({}, {});
    } else if (op.function->family == &functions::attention_family) {
      const std::int64_t own = times * result.shape.cols.value({});
      columns += own;
      seen +=
          static_cast<double>(own) * static_cast<double>(functions::cached_tokens(op.attributes));
    }
  }
  const auto layers = static_cast<double>(model.layers);
  return {static_cast<double>(weights) / layers, static_cast<double>(columns) / layers,
          seen / static_cast<double>(columns)};
}

}  // namespace

Flops model_flops(const Model& model, std::int64_t sequences, Recompute recompute) {
  const LayerWork layer = work_of_layer(model);
  const auto l = static_cast<double>(model.layers);
  const auto h = static_cast<double>(model.hidden);
  const auto v = static_cast<double>(model.vocabulary);
  const auto s = static_cast<double>(model.sequence);
  const auto b = static_cast<double>(sequences);
  const bool full = recompute == Recompute::full;
  const double passes = full ? 96 : 72;
  const double head = v / ((full ? 16 : 12) * l * h);
  // Both are exactly 1 of a GPT.
  const double products = layer.weights / (12 * h * h);
  const double attention = layer.columns / h;
  return {passes * b * s * l * h * h * (products + attention * layer.seen / (6 * h) + head)};
}

Flops model_flops(const Model& model, std::int64_t sequences, const StepOptions& options,
                  std::int64_t stages) {
  if (options.trains()) {
    const Flops none = model_flops(model, sequences, Recompute::none);
    if (options.recompute != Recompute::full) return none;
    const Flops full = model_flops(model, sequences, Recompute::full);
    const std::int64_t layers = recomputed_layers(model, options, stages);
    if (layers == model.layers) return full;
    return none + (full - none) * (static_cast<double>(layers) / static_cast<double>(model.layers));
  }
  const PhaseRow& phase = row_of(options.phase);
  const double forward = model_flops(model, sequences, Recompute::none).value / 3.0;
  const auto s = static_cast<double>(model.sequence);
  if (phase.one_token) return {forward / s};
  if (phase.loss) return {forward};
  const double of_logits = 2.0 * static_cast<double>(model.hidden) *
                           static_cast<double>(model.vocabulary) * static_cast<double>(sequences);
  return {forward - of_logits * (s - 1.0)};
}

std::string model_flops_convention(const Model& model, const StepOptions& options) {
  if (options.trains()) return model_flops_convention(model, options.recompute);
  return model_flops_convention(model, Recompute::none) + ", the forward pass alone";
}

std::string model_flops_convention(const Model& model, Recompute recompute) {
  const LayerWork layer = work_of_layer(model);
  const auto h = static_cast<double>(model.hidden);
  const bool as_gpt = layer.weights == 12.0 * h * h && layer.columns == h;
  return std::string("Narayanan et al. SC21 eq. 3") +
         (as_gpt ? "" : " with the block's key-value heads and MLP") +
         (recompute == Recompute::full ? ", recompute counted" : ", no recompute");
}

}  // namespace fourfold::inline schedule::inline models
