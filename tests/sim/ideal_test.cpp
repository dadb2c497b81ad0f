// Ideal parts, by hand: what a network that takes no time and products at a peak leave.
#include "sim/explain/ideal.hpp"

#include <gtest/gtest.h>

#include "sim/estimate/estimate.hpp"

namespace fourfold::tests {
namespace {

Point one_device() {
  Point point;
  point.platform = "crossbar";
  point.model = {"wide", 2, 8192, 8, 256, 8192};
  point.global_batch = 64;
  return point;
}

// All products run at 50 Tflop/s, and so long that nothing else bounds them.
Platform flat_rate() {
  Platform platform = read_platform("crossbar");
  platform.processor.gemm = {{1, {50e12}}};
  platform.processor.memory_bandwidth = {1e15};
  platform.processor.empirical_peak = {100e12};
  platform.processor.advertised_peak = {200e12};
  return platform;
}

TEST(Ideal, ProductsAtAPeakTakeTheirFlopsAtThatRate) {
  const Point point = one_device();
  const Platform platform = flat_rate();
  const double flops = estimate_step(point, platform).counts.gemm.value;
  const double real = estimate_step(lower(point, platform)).total.value;

  const double empirical =
      estimate_step(lower(point, platform, IdealPart::gemm_empirical)).total.value;
  const double advertised =
      estimate_step(lower(point, platform, IdealPart::gemm_advertised)).total.value;

  EXPECT_NEAR(real - empirical, flops / 50e12 - flops / 100e12, 1e-9 * real);
  EXPECT_NEAR(real - advertised, flops / 50e12 - flops / 200e12, 1e-9 * real);
}

TEST(Ideal, ProductsAtAPeakPayNoPenaltyForTheirLayout) {
  const Point point = one_device();
  Platform platform = flat_rate();
  const double plain = estimate_step(lower(point, platform, IdealPart::gemm_empirical)).total.value;
  platform.processor.layout_penalty_nt = 1.5;
  platform.processor.layout_penalty_tn = 2.0;

  const double ideal = estimate_step(lower(point, platform, IdealPart::gemm_empirical)).total.value;

  EXPECT_EQ(ideal, plain);
}

TEST(Ideal, ProductsAtAPeakForgetWhatWasMeasuredOneByOne) {
  const Point point = one_device();
  Platform platform = flat_rate();
  const double plain =
      estimate_step(lower(point, platform, IdealPart::gemm_advertised)).total.value;
  platform.processor.products.fill({{1.0}, {1.0}, {1.0}, {{10e12}}});

  const double ideal =
      estimate_step(lower(point, platform, IdealPart::gemm_advertised)).total.value;

  EXPECT_GT(estimate_step(lower(point, platform)).total.value, 2.0 * plain);
  EXPECT_EQ(ideal, plain);
}

// Products of the heads of unfused attention, which fill a device in tiles, at a peak do not.
TEST(Ideal, ProductsAtAPeakForgetTheTilesThatTheyWereDoneIn) {
  Point point = one_device();
  point.options.attention = AttentionKernel::unfused;
  Platform platform = flat_rate();
  for (IdealPart part : {IdealPart::gemm_empirical, IdealPart::gemm_advertised}) {
    platform.processor.tiles.reset();
    const double plain = estimate_step(lower(point, platform, part)).total.value;
    const double real = estimate_step(lower(point, platform)).total.value;
    platform.processor.tiles = ProductTiles{.units = 100};

    const double ideal = estimate_step(lower(point, platform, part)).total.value;

    EXPECT_EQ(ideal, plain) << name(part);
    EXPECT_NE(estimate_step(lower(point, platform)).total.value, real) << name(part);
  }
}

TEST(Ideal, NamesItsPartsAndTheirSentences) {
  EXPECT_STREQ(name(IdealPart::none), "none");
  EXPECT_STREQ(name(IdealPart::network), "network");
  EXPECT_STREQ(name(IdealPart::gemm_empirical), "gemm-empirical");
  EXPECT_STREQ(name(IdealPart::gemm_advertised), "gemm-advertised");
  EXPECT_EQ(sentence(IdealPart::none), "the machine as it is");
  EXPECT_EQ(sentence(IdealPart::network), "a network that takes no time (nor computing units)");
  EXPECT_EQ(sentence(IdealPart::gemm_empirical), "matrix products at the empirical peak");
  EXPECT_EQ(sentence(IdealPart::gemm_advertised), "matrix products at the advertised peak");
}

TEST(Ideal, OfNoPartIsTheMachineAsItIs) {
  Point point = one_device();
  point.grid = ProcessGrid(2, 2, 2, 2);
  const Platform platform = read_platform("crossbar");

  const Outcome same = estimate_step(lower(point, platform, IdealPart::none));

  EXPECT_EQ(same.total, estimate_step(lower(point, platform)).total);
  EXPECT_EQ(same.exposed, estimate_step(lower(point, platform)).exposed);
}

TEST(Ideal, NetworkLeavesTheComputeOfKernelsAlone) {
  Point point = one_device();
  point.grid = ProcessGrid(2, 2, 2, 2);
  Platform platform = flat_rate();
  const Outcome ideal = estimate_step(lower(point, platform, IdealPart::network));
  platform.processor.interference = 0.0;

  const Outcome real = estimate_step(lower(point, platform));

  EXPECT_EQ(ideal.total, real.compute);
  EXPECT_EQ(ideal.exposed_total().value, 0.0);
}

}  // namespace
}  // namespace fourfold::tests
