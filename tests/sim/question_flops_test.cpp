// Flops of the hardware, for blocks of every shape: what recompute repeats, against the counted
// rung and by hand.
#include <gtest/gtest.h>

#include <vector>

#include "schedule/models/model_flops.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/question/throughput.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
namespace {

std::vector<Model> models() {
  std::vector<Model> all = shapes_of({"tiny", 3, 48, 12, 16, 96});
  Model& wide = all.emplace_back(all[1]);
  wide.name = "wide heads";
  wide.head_size = 10;
  Model& narrow = all.emplace_back(all[1]);
  narrow.name = "narrow heads";
  narrow.head_size = 2;
  return all;
}

// Whatever part of whichever layers: the products that the program repeats beyond a step that keeps
// all. Attention is s / 6h of a whole layer's (SC21, eq. 3).
TEST(HardwareFlops, AreThoseThatTheStepExecutes) {
  const Model model = small_model(5);
  const auto executed = [&](const StepOptions& options) {
    return counted(model, options, ProcessGrid(1, 1, 1, 1), 2).counts.gemm.value;
  };
  for (AttentionKernel attention : {AttentionKernel::fused, AttentionKernel::unfused}) {
    const double kept = executed(options_of(Recompute::none, attention));
    for (Recompute recompute :
         {Recompute::full, Recompute::mlp, Recompute::norms, Recompute::none}) {
      for (std::int64_t every : {1, 2, 3, 7}) {
        for (std::int64_t first : {0, 1, 2, 9}) {
          StepOptions options = options_of(recompute, attention);
          options.recompute_every = every;
          options.recompute_layers = first;
          const double products = recompute == Recompute::full ? 1.0 + 8.0 / (6.0 * 48.0) : 1.0;
          const double repeated =
              (hardware_flops(model, 2, options) - model_flops(model, 2, Recompute::none)).value;

          EXPECT_EQ(model_flops(model, 2, options, 1),
                    recompute == Recompute::full ? hardware_flops(model, 2, options)
                                                 : model_flops(model, 2, Recompute::none));
          EXPECT_NEAR(executed(options) - kept, repeated / products, 1e-9 * kept)
              << name(recompute) << " of every " << every << ", first " << first;
        }
      }
    }
  }
}

// 4 B s^2 for every column of all heads and layer.
TEST(HardwareFlops, OfSelectiveRecomputeRepeatTheProductsOfUnfusedAttentionAlone) {
  for (const Model& model : models()) {
    for (std::int64_t sequences : {1, 5}) {
      const auto repeated = [&](Recompute recompute, AttentionKernel attention) {
        return (hardware_flops(model, sequences, options_of(recompute, attention)) -
                model_flops(model, sequences, Recompute::none))
            .value;
      };
      const std::int64_t columns =
          model.heads * (model.head_size == 0 ? model.hidden / model.heads : model.head_size);
      const auto again = static_cast<double>(4 * sequences * model.sequence * model.sequence *
                                             model.layers * columns);
      const double full = (model_flops(model, sequences, Recompute::full) -
                           model_flops(model, sequences, Recompute::none))
                              .value;

      for (AttentionKernel attention : {AttentionKernel::fused, AttentionKernel::unfused}) {
        EXPECT_EQ(repeated(Recompute::none, attention), 0.0) << model.name;
        EXPECT_EQ(repeated(Recompute::full, attention), full) << model.name;
      }
      EXPECT_EQ(repeated(Recompute::selective, AttentionKernel::fused), 0.0) << model.name;
      EXPECT_NEAR(repeated(Recompute::selective, AttentionKernel::unfused), again, 1e-6 * again)
          << model.name;
      EXPECT_LT(again, full) << model.name;
    }
  }
}

// Of the two equal products that are counted as repeated our own step repeats the scores alone.
TEST(HardwareFlops, CountTwiceWhatTheCountedRungRepeats) {
  for (const Model& model : models()) {
    Point point;
    point.platform = "crossbar";
    point.model = model;
    point.global_batch = 4;
    const Platform platform = read_platform(point.platform);
    const auto executed = [&](Recompute recompute) {
      point.options = options_of(recompute, AttentionKernel::unfused);
      return estimate_step(point, platform).counts.executed().value;
    };

    const double more = executed(Recompute::selective) - executed(Recompute::none);

    const double counted =
        (hardware_flops(model, 4, options_of(Recompute::selective, AttentionKernel::unfused)) -
         model_flops(model, 4, Recompute::none))
            .value;
    EXPECT_NEAR(2.0 * more, counted, 1e-9 * counted) << model.name;
  }
}

// Korthikanti et al. 2022, Table 5: 175B on 64 A100, selective recompute of unfused attention.
TEST(Throughput, GivesThePublishedUtilisation) {
  Point point;
  point.model = {"175b", 96, 12'288, 96, 2048, 51'200};
  point.grid = ProcessGrid(8, 1, 1, 1, 8);
  point.global_batch = 64;

  EXPECT_NEAR(throughput(point, {13.75}, {312e12}).mfu, 0.514, 0.0005);
}

// Each field by hand, of a step of 2 s on 12 devices of 1 Tflop/s.
TEST(Throughput, HasEachNumberOfItsPoint) {
  for (const Model& model : models()) {
    Point point;
    point.model = model;
    point.grid = ProcessGrid(2, 1, 3, 1, 2);
    point.global_batch = 6;
    point.options = options_of(Recompute::selective, AttentionKernel::unfused);

    const Throughput found = throughput(point, {2.0}, {1e12});

    const double peak = 2.0 * 12.0 * 1e12;
    EXPECT_NEAR(found.mfu, model_flops(model, 6, Recompute::none).value / peak, 1e-15);
    EXPECT_NEAR(found.hfu, hardware_flops(model, 6, point.options).value / peak, 1e-15);
    EXPECT_DOUBLE_EQ(found.tokens_per_s, 6.0 * 16.0 / 2.0);
    EXPECT_DOUBLE_EQ(found.tokens_per_s_per_device, 4.0);
    EXPECT_DOUBLE_EQ(found.days_per_trillion_tokens, 1e12 / 48.0 / 86'400.0);
    EXPECT_DOUBLE_EQ(found.device_hours_per_trillion_tokens, 12.0 * 1e12 / 48.0 / 3600.0);

    // One token of each sequence.
    point.options.phase = Phase::decode;
    EXPECT_DOUBLE_EQ(throughput(point, {2.0}, {1e12}).tokens_per_s, 6.0 / 2.0);
    point.options.phase = Phase::prefill;
    EXPECT_DOUBLE_EQ(throughput(point, {2.0}, {1e12}).tokens_per_s, 6.0 * 16.0 / 2.0);
  }
}

}  // namespace
}  // namespace fourfold::tests
