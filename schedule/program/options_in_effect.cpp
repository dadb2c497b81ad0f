// Axis by axis; see options_in_effect.hpp.
#include "schedule/program/options_in_effect.hpp"

namespace fourfold::inline schedule::inline program {

StepOptions in_effect(StepOptions options, const ProcessGrid& grid) {
  const StepOptions usual;
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
