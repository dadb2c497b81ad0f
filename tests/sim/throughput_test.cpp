// MFU, HFU, tokens and device-hours of a step, against figures by hand and published ones.
#include "sim/question/throughput.hpp"

#include <gtest/gtest.h>

namespace fourfold::tests {
namespace {

// Korthikanti et al. 2022, Table 5: 175B on 64 A100, selective recompute, 13.75 s.
Point korthikanti_175b() {
  Point point;
  point.model = {"175b", 96, 12'288, 96, 2048, 51'200};
  point.grid = ProcessGrid(8, 1, 1, 1, 8);
  point.global_batch = 64;
  point.options.recompute = Recompute::none;
  return point;
}

TEST(Throughput, GivesThePublishedUtilisation) {
  const Throughput found = throughput(korthikanti_175b(), {13.75}, {312e12});

  EXPECT_NEAR(found.mfu, 0.514, 0.0005);
}

TEST(Throughput, CountsTokensDaysAndDeviceHours) {
  // 64 x 2048 tokens in 16 s on 64 devices.
  const Throughput found = throughput(korthikanti_175b(), {16.0}, {312e12});

  EXPECT_DOUBLE_EQ(found.tokens_per_s, 8192.0);
  EXPECT_DOUBLE_EQ(found.tokens_per_s_per_device, 128.0);
  EXPECT_DOUBLE_EQ(found.days_per_trillion_tokens, 1e12 / 8192.0 / 86'400.0);
  EXPECT_DOUBLE_EQ(found.device_hours_per_trillion_tokens, 64.0 * 1e12 / 8192.0 / 3600.0);
}

TEST(Throughput, CountsWhatRecomputeRepeatsInHfuAlone) {
  Point point = korthikanti_175b();
  const Throughput none = throughput(point, {16.0}, {312e12});
  point.options.recompute = Recompute::full;
  const Throughput full = throughput(point, {16.0}, {312e12});
  point.options.recompute = Recompute::selective;
  const Throughput fused = throughput(point, {16.0}, {312e12});
  point.options.attention = AttentionKernel::unfused;
  const Throughput unfused = throughput(point, {16.0}, {312e12});

  EXPECT_EQ(none.hfu, none.mfu);
  EXPECT_EQ(full.mfu, none.mfu);
  // Without the head, full recompute does four passes instead of three.
  EXPECT_GT(full.hfu / full.mfu, 1.32);
  EXPECT_LT(full.hfu / full.mfu, 4.0 / 3.0);
  EXPECT_EQ(fused.hfu, fused.mfu);
  const double again = 4.0 * 64.0 * 2048.0 * 2048.0 * 96.0 * 12'288.0;
  EXPECT_NEAR(unfused.hfu - unfused.mfu, again / (16.0 * 64.0 * 312e12), 1e-12);
}

}  // namespace
}  // namespace fourfold::tests
