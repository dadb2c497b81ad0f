// The paper's communication model: its bandwidths per axis, and seconds by hand.
#include "sim/cost/paper_model.hpp"

#include <gtest/gtest.h>

#include "schedule/models/fit.hpp"
#include "schedule/models/model_file.hpp"

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

constexpr double h = 1024.0;
constexpr double rows = 8.0 * 512.0;

double coded(const ProcessGrid& grid) {
  const Model two_layers{"small", 2, 1024, 16, 512, 8192};
  return coded_communication(two_layers, 8, grid, "frontier").value / 2;
}

// Of 2 devices, each sends half of what a ring gathers and all of what it reduces: forward results
// of 3h, h, 4h and h columns twice, gradients of h, h, h and 4h once, 2 bytes each.
TEST(CodedModel, SumsUpForwardResultsOfWhatIsNotSwappedAlongY) {
  EXPECT_DOUBLE_EQ(coded(ProcessGrid(1, 2, 1, 1)), 2 * rows * h * (2 * 7 + 5) / 129e9);
  EXPECT_DOUBLE_EQ(coded(ProcessGrid(2, 1, 1, 1)), 2 * rows * h * (2 * 2 + 2) / 129e9);
}

// A block has 12 h^2 weights: along z two gathers and a reduction of 2 bytes, along data an
// all-reduce of 4.
TEST(CodedModel, GathersWeightsTwiceAndReducesGradientsInFp32) {
  EXPECT_DOUBLE_EQ(coded(ProcessGrid(1, 1, 2, 1)), 3 * 0.5 * 12 * h * h * 2 / 129e9);
  EXPECT_DOUBLE_EQ(coded(ProcessGrid(1, 1, 1, 2)), 12 * h * h * 4 / 129e9);
}

// y fills half a node, x lies in four of them.
TEST(CodedModel, HasYInnermost) {
  const double along_y = 2 * 0.75 * rows * h * 2 * (2 * 7 + 5) / 4 / 52e9;
  const double along_x = 2 * 0.75 * rows * h * 2 * (2 * 2 + 2) / 4 / (40e9 / 4);

  EXPECT_DOUBLE_EQ(coded(ProcessGrid(4, 4, 1, 1)), along_y + along_x);
  EXPECT_EQ(coded_rank_order().distance(ProcessGrid(4, 4, 1, 1), Axis::x), 4);
}

TEST(CodedModel, ListsGridsOfPowersOfTwoByItsSeconds) {
  const Model model = read_model("gpt-10b");

  const std::vector<ProcessGrid> grids = coded_grids(model, 8192, 1024, "perlmutter", 10);

  ASSERT_EQ(grids.size(), 10u);
  double last = 0.0;
  for (const ProcessGrid& grid : grids) {
    const double seconds = coded_communication(model, 8192, grid, "perlmutter").value;
    EXPECT_GE(seconds, last) << grid.str();
    last = seconds;
    EXPECT_EQ(grid.size(), 1024) << grid.str();
    EXPECT_GE(grid.size() / grid.extent(Axis::data), 8) << grid.str();
    EXPECT_EQ(find_misfit(model, grid, 1), Misfit::none) << grid.str();
  }
  EXPECT_EQ(coded_grids(model, 8192, 1024, "perlmutter", 3)[2], grids[2]);
}

TEST(CodedModel, KnowsTwoMachines) {
  EXPECT_TRUE(codes_machine("perlmutter"));
  EXPECT_TRUE(codes_machine("frontier"));
  EXPECT_FALSE(codes_machine("alps"));
}

}  // namespace
}  // namespace fourfold
