// Axis by axis; see options_in_effect.hpp.
#include "schedule/program/options_in_effect.hpp"

#include <algorithm>

namespace fourfold::inline schedule::inline program {

StepOptions with_buckets(StepOptions options, const ProcessGrid& grid) {
  const std::int64_t members = grid.extent(Axis::data);
  const double elements = static_cast<double>(members == 1 ? 0 : options.data_bucket_each) *
                          static_cast<double>(members) *
                          static_cast<double>(grid.extent(Axis::x) * grid.extent(Axis::y));
  const double most = std::min(elements, static_cast<double>(most_in_bucket));
  options.data_bucket = std::max(options.data_bucket, static_cast<std::int64_t>(most));
  options.data_bucket_each = 0;
  return options;
}

StepOptions forward_alone(StepOptions options) {
  const StepOptions usual;
  options.recompute = usual.recompute;
  options.recompute_every = usual.recompute_every;
  options.recompute_layers = usual.recompute_layers;
  options.in_flight_blocks = usual.in_flight_blocks;
  options.gradient_reduction = usual.gradient_reduction;
  options.data_reduction = usual.data_reduction;
  options.order = options.chunks > 1 ? options.order : usual.order;
  options.pipeline_limit = usual.pipeline_limit;
  options.data_bucket = usual.data_bucket;
  options.data_bucket_each = usual.data_bucket_each;
  if (!options.cuts_weights()) options.zero = usual.zero;
  options.offload_bucket = usual.offload_bucket;
  options.offload_activations = usual.offload_activations;
  options.grad_reduce_precision_z = usual.grad_reduce_precision_z;
  options.grad_reduce_precision_data = usual.grad_reduce_precision_data;
  return options;
}

StepOptions in_effect(StepOptions options, const ProcessGrid& grid) {
  const StepOptions usual;
  if (!options.trains()) options = forward_alone(options);
  options = with_buckets(options, grid);
  if (grid.extent(Axis::data) == 1) {
    options.zero = usual.zero;
    options.data_bucket = usual.data_bucket;
    options.data_reduction = usual.data_reduction;
    options.grad_reduce_precision_data = usual.grad_reduce_precision_data;
  }
  if (grid.extent(Axis::z) == 1) {
    options.grad_reduce_precision_z = usual.grad_reduce_precision_z;
    if (!options.cuts_weights()) {
      options.weight_gather = usual.weight_gather;
      options.in_flight_blocks = usual.in_flight_blocks;
    }
  }
  // Masters that lie otherwise than the weights do are not gathered.
  if (grid.extent(Axis::z) == 1 || options.cuts_optimizer() || options.offloads()) {
    options.weight_gather_precision = usual.weight_gather_precision;
  }
  const bool gathers_again =
      options.recompute == Recompute::full || options.recompute == Recompute::mlp;
  if (!gathers_again && options.weight_gather == WeightGather::per_pass) {
    options.weight_gather = usual.weight_gather;
  }
  options.offload_activations = options.offloads_inputs();
  const bool nothing_to_select =
      options.recompute == Recompute::selective && options.attention == AttentionKernel::fused;
  if (options.recompute == Recompute::none || nothing_to_select) {
    options.recompute_every = usual.recompute_every;
    options.recompute_layers = usual.recompute_layers;
  }
  if (grid.extent(Axis::pipe) == 1) options.layers_per_stage = usual.layers_per_stage;
  if (grid.extent(Axis::x) == 1) options.sequence_parallel = usual.sequence_parallel;
  return options;
}

}  // namespace fourfold::inline schedule::inline program
