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

// Penalties for layouts, what was measured one by one, and tiles, in which the products of the
// heads of unfused attention fill a device.
TEST(Ideal, ProductsAtAPeakForgetWhatHeldThemUp) {
  Point point = one_device();
  point.options.attention = AttentionKernel::unfused;
  const Platform plain = flat_rate();
  Platform penalties = plain, measured = plain, tiles = plain;
  penalties.processor.layout_penalty_nt = 1.5;
  penalties.processor.layout_penalty_tn = 2.0;
  measured.processor.products.fill({{1.0}, {1.0}, {1.0}, {{10e12}}});
  tiles.processor.tiles = ProductTiles{.units = 100};
  const auto seconds = [&](const Platform& platform, IdealPart part) {
    return estimate_step(lower(point, platform, part)).total.value;
  };
  for (const Platform& held_up : {penalties, measured, tiles}) {
    EXPECT_NE(seconds(held_up, IdealPart::none), seconds(plain, IdealPart::none));
    for (IdealPart part : {IdealPart::gemm_empirical, IdealPart::gemm_advertised}) {
      EXPECT_EQ(seconds(held_up, part), seconds(plain, part)) << name(part);
    }
  }
}

TEST(Ideal, PeaksOf16BitsAreNoneOfOtherProducts) {
  const Platform platform = read_platform("dgx-h100");
  for (IdealPart part : {IdealPart::gemm_empirical, IdealPart::gemm_advertised}) {
    Point point = one_device();
    EXPECT_TRUE(takes_effect(part, point, platform));
    point.options.precision = Precision::fp32;
    EXPECT_FALSE(takes_effect(part, point, platform));
    EXPECT_TRUE(takes_effect(part, point, flat_rate()));  // which has no rate of its own in fp32
    point = one_device();
    point.options.products = ProductPrecision::fp8_delayed;
    EXPECT_FALSE(takes_effect(part, point, platform));
  }
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
