// Divisions; see throughput.hpp.
#include "sim/question/throughput.hpp"

#include "schedule/models/fit.hpp"
#include "schedule/models/gpt.hpp"
#include "schedule/models/model_flops.hpp"

namespace fourfold::inline sim::inline question {

namespace {

// Of a forward pass of one layer, what is repeated beside the block as a whole.
double repeated_in_a_layer(const Model& model, std::int64_t sequences, const StepOptions& options) {
  const auto s = static_cast<double>(model.sequence);
  const double tokens = static_cast<double>(sequences) * s;
  if (options.recompute == Recompute::mlp) {
    return 2.0 * tokens * static_cast<double>(model.hidden) *
           static_cast<double>(model.up_columns());
  }
  const bool scores =
      options.recompute == Recompute::selective && options.attention == AttentionKernel::unfused;
  return scores ? 4.0 * tokens * s * static_cast<double>(model.attention_columns()) : 0.0;
}

}  // namespace

Flops hardware_flops(const Model& model, std::int64_t sequences, const StepOptions& options,
                     std::int64_t stages) {
  const Flops model_of_step = model_flops(model, sequences, options, stages);
  if (!options.trains() || options.recompute == Recompute::full) return model_of_step;
  const auto layers = static_cast<double>(recomputed_layers(model, options, stages));
  return model_of_step + Flops{layers * repeated_in_a_layer(model, sequences, options)};
}

Throughput throughput(const Point& point, Seconds step, FlopsPerSecond peak) {
  constexpr double trillion = 1e12, hour = 3600.0, day = 24.0 * hour;  // tokens, seconds
  const auto devices = static_cast<double>(point.grid.size());
  const double peak_of_all = peak.value * devices;
  StepOptions without_recompute = point.options;
  without_recompute.recompute = Recompute::none;
  const std::int64_t stages = point.grid.extent(Axis::pipe);
  const Flops model = model_flops(point.model, point.global_batch, without_recompute, stages);
  const Flops hardware = hardware_flops(point.model, point.global_batch, point.options, stages);
  Throughput result;
  result.mfu = (model / step).value / peak_of_all;
  result.hfu = (hardware / step).value / peak_of_all;
  result.tokens_per_s = static_cast<double>(point.global_batch) *
                        static_cast<double>(tokens_of_sequence(point.model, point.options)) /
                        step.value;
  result.tokens_per_s_per_device = result.tokens_per_s / devices;
  const double seconds = trillion / result.tokens_per_s;
  result.days_per_trillion_tokens = seconds / day;
  result.device_hours_per_trillion_tokens = devices * seconds / hour;
  return result;
}

}  // namespace fourfold::inline sim::inline question
