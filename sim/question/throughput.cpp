// Divisions; see throughput.hpp.
#include "sim/question/throughput.hpp"

namespace fourfold::inline sim::inline question {

Flops hardware_flops(const Model& model, std::int64_t sequences, const StepOptions& options) {
  Flops flops = model_flops(model, sequences, options.recompute);
  if (options.recompute == Recompute::selective && options.attention == AttentionKernel::unfused) {
    const auto s = static_cast<double>(model.sequence);
    flops += {4.0 * static_cast<double>(sequences) * s * s * static_cast<double>(model.layers) *
              static_cast<double>(model.attention_columns())};
  }
  return flops;
}

Throughput throughput(const Point& point, Seconds step, FlopsPerSecond peak) {
  constexpr double trillion = 1e12, hour = 3600.0, day = 24.0 * hour;  // tokens, seconds
  const auto devices = static_cast<double>(point.grid.size());
  const double peak_of_all = peak.value * devices;
  const Flops model = model_flops(point.model, point.global_batch, Recompute::none);
  const Flops hardware = hardware_flops(point.model, point.global_batch, point.options);
  Throughput result;
  result.mfu = (model / step).value / peak_of_all;
  result.hfu = (hardware / step).value / peak_of_all;
  result.tokens_per_s = static_cast<double>(point.global_batch) *
                        static_cast<double>(point.model.sequence) / step.value;
  result.tokens_per_s_per_device = result.tokens_per_s / devices;
  const double seconds = trillion / result.tokens_per_s;
  result.days_per_trillion_tokens = seconds / day;
  result.device_hours_per_trillion_tokens = devices * seconds / hour;
  return result;
}

}  // namespace fourfold::inline sim::inline question
