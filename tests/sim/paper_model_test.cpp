// The paper's communication model: its bandwidths per axis, and seconds by hand.
#include "sim/cost/paper_model.hpp"

#include <gtest/gtest.h>

namespace fourfold {
namespace {

Platform four_devices_a_node() {
  Platform platform;
  platform.node.devices = 4;
  platform.library.across = {{1, {20e9}}, {4, {80e9}}};
  platform.library.in_node = {{2, {76e9}}, {4, {225e9}}};
  platform.library.in_node_by_stride = {{2, 2, {50e9}}};
  return platform;
}

TEST(PaperModel, ANodesBandwidthIsSharedByItsInnerGroups) {
  const Platform platform = four_devices_a_node();

  EXPECT_DOUBLE_EQ(paper_bandwidth(ProcessGrid(1, 1, 8, 1), Axis::z, platform).value, 80e9);
  EXPECT_DOUBLE_EQ(paper_bandwidth(ProcessGrid(2, 1, 8, 1), Axis::z, platform).value, 40e9);
  EXPECT_DOUBLE_EQ(paper_bandwidth(ProcessGrid(4, 4, 8, 1), Axis::z, platform).value, 20e9);
}

TEST(PaperModel, InsideANodeTheMeasuredTableCounts) {
  const Platform platform = four_devices_a_node();

  EXPECT_DOUBLE_EQ(paper_bandwidth(ProcessGrid(4, 1, 1, 1), Axis::x, platform).value, 225e9);
  EXPECT_DOUBLE_EQ(paper_bandwidth(ProcessGrid(2, 2, 1, 1), Axis::x, platform).value, 76e9);
  EXPECT_DOUBLE_EQ(paper_bandwidth(ProcessGrid(2, 2, 1, 1), Axis::y, platform).value, 50e9);
}

TEST(PaperModel, SecondsAddUpOverAxesThatAreCut) {
  const Platform platform = four_devices_a_node();
  Counts counts;
  counts.channels = {{Axis::x, ""}, {Axis::z, "gather"}, {Axis::z, "reduce"}};
  counts.sent = {{225e9}, {40e9}, {20e9}};

  EXPECT_DOUBLE_EQ(paper_communication(counts, ProcessGrid(4, 1, 8, 1), platform).value, 4.0);
  EXPECT_DOUBLE_EQ(paper_communication(counts, ProcessGrid(1, 1, 8, 1), platform).value, 0.75);
}

}  // namespace
}  // namespace fourfold
