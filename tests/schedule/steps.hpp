// Small models, random options and the counted rung in one call, shared by the tests of the step.
#pragma once

#include <random>
#include <string>

#include "schedule/fold/count.hpp"
#include "schedule/fold/memory.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::tests {

inline Model small_model(std::int64_t layers) {
  return {"small", layers, 48, 12, 8, 96};
}

inline StepOptions options_of(Recompute recompute, AttentionKernel attention) {
  StepOptions options;
  options.recompute = recompute;
  options.attention = attention;
  return options;
}

// A folded step with its local sizes on one grid; `sequences` is the batch of the whole step.
struct Counted {
  Folded folded;
  LocalSizes sizes;
  Counts counts;
  MemoryUse memory;
};

inline Counted counted(Folded folded, const ProcessGrid& grid, std::int64_t tokens) {
  Counted result{std::move(folded), {}, {}, {}};
  result.sizes.evaluate(result.folded, grid, {tokens});
  result.counts = count(result.folded, result.sizes, grid);
  result.memory = peak_memory(result.folded, result.sizes, grid);
  return result;
}

inline Counted counted(const Model& model, const StepOptions& options, const ProcessGrid& grid,
                       std::int64_t sequences) {
  return counted(folded_step(model, options), grid,
                 sequences * model.sequence / options.micro_batches);
}

// No overlap at all: a wait right after every start, but for the data reductions.
inline constexpr Overlap no_overlap{false, false, false, false};

inline StepOptions random_options(std::mt19937& random, std::int64_t micro_batches) {
  const auto coin = [&random] { return random() % 2 == 0; };
  StepOptions options;
  options.micro_batches = micro_batches;
  options.recompute = coin() ? Recompute::full : Recompute::none;
  options.overlap = {coin(), coin(), coin(), coin()};
  options.in_flight_blocks = static_cast<std::int64_t>(random() % 6);
  options.weight_gather = coin() ? WeightGather::keep : WeightGather::per_micro_batch;
  options.gradient_reduction =
      coin() ? GradientReduction::accumulated : GradientReduction::per_micro_batch;
  options.data_reduction = coin() ? DataReduction::after_backward : DataReduction::beside_backward;
  options.grad_reduce_precision_z = coin() ? Precision::bf16 : Precision::fp32;
  options.grad_reduce_precision_data = coin() ? Precision::bf16 : Precision::fp32;
  options.overlap.across_blocks = coin();
  return options;
}

// With a recompute of any kind, of some layers or of all.
inline StepOptions recomputing_some(std::mt19937& random, StepOptions options) {
  constexpr std::array recomputes{Recompute::full, Recompute::none, Recompute::mlp,
                                  Recompute::norms, Recompute::selective};
  options.recompute = recomputes[random() % recomputes.size()];
  options.recompute_every = 1 + static_cast<std::int64_t>(random() % 2);
  options.recompute_layers = static_cast<std::int64_t>(random() % 2);
  return options;
}

// Says which case of a loop over random options failed.
inline std::string described(const StepOptions& o) {
  const auto flag = [](bool on) { return on ? "1" : "0"; };
  return "M=" + std::to_string(o.micro_batches) + " recompute=" + name(o.recompute) + " of every " +
         std::to_string(o.recompute_every) + ", first " + std::to_string(o.recompute_layers) +
         " overlaps(AR,RS,AG,recompute,across)=" + flag(o.overlap.all_reduce) +
         flag(o.overlap.reduce_scatter) + flag(o.overlap.all_gather) +
         flag(o.overlap.recompute_gather) + flag(o.overlap.across_blocks) +
         " window=" + std::to_string(o.in_flight_blocks) + " gather=" + name(o.weight_gather) +
         " reduction=" + name(o.gradient_reduction) + " data=" + name(o.data_reduction) + " z " +
         name(o.grad_reduce_precision_z) + " data " + name(o.grad_reduce_precision_data);
}

}  // namespace fourfold::tests
