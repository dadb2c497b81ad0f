// Steps drawn by chance, and whether two folds of one step are the same.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "schedule/fold/fold.hpp"

namespace fourfold::tests {

// Body after body, as a device runs them.
inline std::vector<std::int32_t> unrolled(const Folded& folded) {
  std::vector<std::int32_t> bodies;
  for (const BodyCycle& cycle : folded.cycles) {
    for (std::int64_t i = 0; i < cycle.repeats; ++i) {
      for (const BodyRun& run : cycle.runs) {
        bodies.insert(bodies.end(), static_cast<std::size_t>(run.repeats), run.body);
      }
    }
  }
  return bodies;
}

inline void expect_equal(const Folded& made, const Folded& whole, const std::string& what) {
  EXPECT_TRUE(made.channels == whole.channels) << what;
  EXPECT_TRUE(made.shapes == whole.shapes) << what;
  EXPECT_TRUE(made.sizes == whole.sizes) << what;
  EXPECT_TRUE(made.classes == whole.classes) << what;
  EXPECT_TRUE(made.bundles == whole.bundles) << what;
  EXPECT_TRUE(made.collectives == whole.collectives) << what;
  EXPECT_TRUE(made.persistent == whole.persistent) << what;
  EXPECT_TRUE(made.on_host == whole.on_host) << what;
  ASSERT_EQ(made.bodies.size(), whole.bodies.size()) << what;
  for (std::size_t b = 0; b < made.bodies.size(); ++b) {
    EXPECT_TRUE(made.bodies[b].steps == whole.bodies[b].steps) << what << ", body " << b;
    EXPECT_TRUE(made.bodies[b].events == whole.bodies[b].events) << what << ", body " << b;
  }
  EXPECT_EQ(unrolled(made), unrolled(whole)) << what;
  EXPECT_EQ(made.micro_batches, whole.micro_batches) << what;
}

// Options drawn by chance, of any order but the message-driven.
class FoldDraw {
 public:
  explicit FoldDraw(unsigned seed) : random_(seed) {}

  StepOptions options(std::int64_t stages, std::int64_t chunks) {
    StepOptions options;
    options.chunks = chunks;
    constexpr std::array of_one_chunk{PipelineOrder::one_f_one_b, PipelineOrder::gpipe,
                                      PipelineOrder::zero_bubble};
    options.order = chunks > 1 ? PipelineOrder::interleaved
                               : of_one_chunk[static_cast<std::size_t>(one_of({0, 1, 2}))];
    options.micro_batches =
        chunks > 1 ? stages * one_of({1, 2, 3, 5, 8}) : one_of({1, 2, 3, 5, 7, 16, 23, 40});
    for (bool* overlap : {&options.overlap.all_reduce, &options.overlap.reduce_scatter,
                          &options.overlap.all_gather, &options.overlap.recompute_gather,
                          &options.overlap.across_blocks, &options.overlap.messages}) {
      *overlap = one_of({0, 1, 1}) == 1;
    }
    constexpr std::array recomputes{Recompute::none, Recompute::full, Recompute::selective,
                                    Recompute::mlp, Recompute::norms};
    options.recompute = recomputes[static_cast<std::size_t>(one_of({0, 1, 1, 2, 3, 4}))];
    options.recompute_every = one_of({1, 1, 2});
    options.recompute_layers = one_of({0, 0, 1});
    options.zero = one_of({0, 0, 1, 2, 3});
    options.in_flight_blocks = one_of({0, 1, 2, 2, 5});
    options.sequence_parallel = one_of({0, 1}) == 1;
    options.cut_messages = one_of({0, 1}) == 1;
    if (one_of({0, 1})) options.offload_bucket = 1 << 20;
    options.data_bucket = one_of({0, 0, 1 << 24, 1 << 28, 1 << 30});
    if (one_of({0, 1})) options.attention = AttentionKernel::unfused;
    if (one_of({0, 1})) options.weight_gather = WeightGather::keep;
    if (one_of({0, 1})) options.gradient_reduction = GradientReduction::accumulated;
    if (one_of({0, 1})) options.data_reduction = DataReduction::beside_backward;
    options.offload_activations = one_of({0, 1}) == 1;
    return options;
  }
  // Training as often as all others together.
  Phase phase() { return phases[static_cast<std::size_t>(one_of({0, 0, 0, 1, 2, 3}))].phase; }
  // Layers dealt out by chance, at least one a stage, now and then.
  LayersPerStage split(std::int64_t layers, std::int64_t stages) {
    if (one_of({0, 1})) return {};
    std::string text;
    for (std::int64_t left = stages; left > 0; --left) {
      const std::int64_t most = layers - (left - 1);
      const std::int64_t own = left == 1 ? layers : std::min(most, one_of({1, 1, 2, 3}));
      text += (text.empty() ? "" : ",") + std::to_string(own);
      layers -= own;
    }
    return LayersPerStage::parse(text);
  }
  std::int64_t one_of(std::initializer_list<std::int64_t> numbers) {
    return numbers.begin()[random_() % numbers.size()];
  }

 private:
  std::mt19937 random_;
};

}  // namespace fourfold::tests
