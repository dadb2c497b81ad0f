// A row for each pair of options; see without_effect.hpp.
#include "schedule/program/without_effect.hpp"

namespace fourfold::inline schedule::inline program {

std::optional<WithoutEffect> why_without_effect(const std::string& key,
                                                const StepOptions& options) {
  struct Row {
    const char* key;
    bool idle;
    const char* by;
    const char* why;
  };
  const bool gathers = options.recompute == Recompute::full || options.recompute == Recompute::mlp;
  const bool narrow = options.precision != Precision::fp32;
  const Row rows[]{
      {"overlap.recompute_gather",
       !(options.overlap == Overlap{}) && options.overlap.recompute_gather && !gathers, "recompute",
       "gathers nothing anew"},
      {"recompute_every", options.recompute == Recompute::none, "recompute", "recomputes no layer"},
      {"recompute_layers", options.recompute == Recompute::none, "recompute",
       "recomputes no layer"},
      {"offload_activations", options.offload_activations && !options.offloads_inputs(),
       "recompute", "keeps more of a block than its input"},
      {"grad_reduce_precision_z", !narrow, "precision", "means fp32 throughout"},
      {"grad_reduce_precision_data", !narrow, "precision", "means fp32 throughout"},
      {"grad_reduce_precision_data", options.cuts_gradients(), "zero",
       "reduces gradients along data as they come from z"},
      {"cut_messages", options.cut_messages && options.sequence_parallel, "sequence_parallel",
       "has cut what is sent already"},
      {"in_flight_blocks", !options.overlap.reduce_scatter, "overlap.reduce_scatter",
       "leaves no reduce-scatter in flight"}};
  for (const Row& row : rows) {
    if (row.idle && key == row.key) return WithoutEffect{row.by, row.why};
  }
  return std::nullopt;
}

}  // namespace fourfold::inline schedule::inline program
