// Lowering, by hand: in how many nodes a group lies, what a forced algorithm can change, and that
// both ways to an estimate put the same seconds in.
#include "sim/cost/lower.hpp"

#include <gtest/gtest.h>

#include "sim/estimate/estimate.hpp"

namespace fourfold::tests {
namespace {

GroupShape shape(const ProcessGrid& grid, Axis axis) {
  return group_shapes(grid, 8).at(static_cast<std::size_t>(axis));  // 8 devices a node
}

TEST(GroupShapes, OfAPackedGridFillNodesOneAfterTheOther) {
  EXPECT_EQ(shape({8, 1, 1, 1}, Axis::x), (GroupShape{8, 1, 1}));
  EXPECT_EQ(shape({12, 1, 1, 1}, Axis::x), (GroupShape{12, 2, 1}));
  EXPECT_EQ(shape({2, 4, 1, 1}, Axis::y), (GroupShape{4, 1, 2}));
  EXPECT_EQ(shape({2, 5, 1, 1}, Axis::y), (GroupShape{5, 2, 2}));
  EXPECT_EQ(shape({4, 1, 6, 1}, Axis::z), (GroupShape{6, 3, 4}));
  EXPECT_EQ(shape({8, 1, 1, 6}, Axis::data), (GroupShape{6, 6, 8}));
  EXPECT_EQ(shape({4, 4, 1, 6}, Axis::data), (GroupShape{6, 6, 16}));
}

Point on_devices(const ProcessGrid& grid, std::vector<std::int64_t> devices) {
  Point point;
  point.platform = "frontier";
  point.model = {"tiny", 2, 1024, 8, 256, 4096};
  point.grid = grid;
  point.global_batch = 8;
  point.what_ifs.placement.by = Placing::devices;
  point.what_ifs.placement.list = std::move(devices);
  return point;
}

// Ranks 0 to 2 lie on node 0, the others on node 5.
TEST(GroupShapes, OfListedDevicesLieInAsManyNodesAsTheWidestGroup) {
  const Platform frontier = read_platform("frontier");
  const Point point = on_devices({2, 2, 1, 2}, {0, 1, 2, 40, 41, 42, 43, 44});

  const GroupShapes shapes = group_shapes(point, frontier);

  EXPECT_EQ(shapes[static_cast<std::size_t>(Axis::x)].nodes, 2);     // ranks 2 and 3
  EXPECT_EQ(shapes[static_cast<std::size_t>(Axis::y)].nodes, 2);     // ranks 1 and 3
  EXPECT_EQ(shapes[static_cast<std::size_t>(Axis::z)].nodes, 1);     // one rank
  EXPECT_EQ(shapes[static_cast<std::size_t>(Axis::data)].nodes, 2);  // ranks 0 and 4
}

TEST(GroupShapes, OfListedDevicesMayLieCloserThanPackedOnes) {
  const Platform frontier = read_platform("frontier");
  const Point point = on_devices({8, 1, 2, 1}, {0, 2, 4, 6, 8, 10, 12, 14,  //
                                                1, 3, 5, 7, 9, 11, 13, 15});

  const GroupShapes shapes = group_shapes(point, frontier);

  EXPECT_EQ(shapes[static_cast<std::size_t>(Axis::x)].nodes, 2);
  EXPECT_EQ(shapes[static_cast<std::size_t>(Axis::z)].nodes, 1);
}

TEST(Estimate, OfListedDevicesIsThatOfTheirTimedProgram) {
  const Platform frontier = read_platform("frontier");
  const Point point = on_devices({8, 1, 2, 1}, {0, 2, 4, 6, 8, 10, 12, 14,  //
                                                1, 3, 5, 7, 9, 11, 13, 15});

  const Outcome direct = estimate_step(point, frontier).outcome;

  EXPECT_EQ(direct.total, estimate_step(lower(point, frontier)).total);
}

// Three stages of a node each: the pair sends below its leaf, and the stage beside it to nobody.
TEST(Estimate, StagesBelowOneLeafDoNotFeelItsLinksUp) {
  const Platform wide = read_platform("selene");
  Platform narrow = wide;
  std::get<FatTreeNetwork>(narrow.network).tiers.front().oversubscription = 1000.0;
  Point point;
  point.platform = "selene";
  point.model = {"deep", 6, 1024, 8, 512, 512};
  point.grid = ProcessGrid(8, 1, 1, 1, 3);
  point.options.micro_batches = 6;
  point.global_batch = 6;

  EXPECT_EQ(estimate_step(point, narrow).outcome.total, estimate_step(point, wide).outcome.total);
}

TEST(Tuning, AppliesWhereTheAlgorithmIsPossibleAndChangesSomething) {
  const CollectiveTuning ring = collective_tuning("ring");
  const CollectiveTuning tree = collective_tuning("tree");
  const CollectiveTuning recursive = collective_tuning("recursive");
  const CollectiveTuning hierarchical = collective_tuning("hierarchical");
  constexpr auto gather = CollectiveKind::all_gather;
  constexpr auto reduce = CollectiveKind::all_reduce;
  const GroupShape wide{16, 4};
  const GroupShape inner{8, 1};

  EXPECT_TRUE(applies(ring, reduce, wide));
  EXPECT_FALSE(applies(ring, reduce, inner));  // what else?
  EXPECT_FALSE(applies(ring, gather, wide));
  EXPECT_TRUE(applies(tree, reduce, wide));
  EXPECT_FALSE(applies(tree, reduce, inner));
  EXPECT_FALSE(applies(tree, gather, wide));
  EXPECT_TRUE(applies(recursive, gather, inner));
  EXPECT_FALSE(applies(recursive, gather, {6, 1}));
  EXPECT_TRUE(applies(hierarchical, gather, wide));
  EXPECT_FALSE(applies(hierarchical, gather, inner));
  EXPECT_FALSE(applies(recursive, gather, {1, 1}));
  EXPECT_FALSE(applies(collective_tuning("all-reduce:recursive"), gather, wide));
}

}  // namespace
}  // namespace fourfold::tests
