// How many nodes the groups of a grid lie in: packed, in another order of ranks, and by a list of
// devices; and which forced algorithms can mean anything to groups of such shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "sim/conditions/conditions.hpp"
#include "sim/cost/lower.hpp"
#include "sim/cost/protocol.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

GroupShape of(const GroupShapes& shapes, Axis axis) {
  return shapes[static_cast<std::size_t>(axis)];
}

std::int64_t nodes_of(const std::vector<std::int64_t>& ranks, const Mapping& mapping,
                      std::int64_t per_node) {
  std::set<std::int64_t> nodes;
  for (std::int64_t device : mapping.apply(ranks)) nodes.insert(device / per_node);
  return std::ssize(nodes);
}

// Of each axis the groups whose ranks interleave from place 0 on; where a list says the devices,
// the group in most nodes, wherever it stands.
TEST(GroupShapes, LieInTheNodesOfTheirDevices) {
  std::mt19937 random(3);
  int straddling = 0;
  for (const ProcessGrid& grid :
       {ProcessGrid(3, 3, 5, 2), ProcessGrid(2, 5, 3, 4), ProcessGrid(6, 2, 7, 1),
        ProcessGrid(1, 12, 1, 5), ProcessGrid(9, 1, 2, 3), ProcessGrid(4, 2, 8, 2)}) {
    for (const std::int64_t per_node : {4, 6, 8, 12}) {
      for (const char* words : {"x,y,z,data,pipe", "data,z,x", "y,pipe,data", "listed"}) {
        Point point;
        point.grid = grid;
        Platform platform = read_platform("frontier");
        platform.node.devices = static_cast<int>(per_node);
        const bool listed = words == std::string("listed");
        if (listed) {
          point.what_ifs.placement.by = Placing::devices;
          point.what_ifs.placement.list = Mapping::packed(grid.size()).devices;
          std::ranges::shuffle(point.what_ifs.placement.list, random);
        } else {
          point.options.rank_order = RankOrder::parse(words);
        }
        const RankOrder& order = point.options.rank_order;
        const Mapping mapping = mapping_of(point, platform);
        const GroupShapes shapes = group_shapes(point, platform);
        for (Axis axis : all_axes) {
          const std::int64_t stride = order.distance(grid, axis);
          std::int64_t most = 0;
          for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
            const bool counts = listed || order.place(grid, rank) < stride;
            if (grid.coordinate(rank, axis) > 0 || !counts) continue;
            most = std::max(most, nodes_of(grid.line(rank, axis), mapping, per_node));
          }

          EXPECT_EQ(of(shapes, axis), (GroupShape{grid.extent(axis), most, stride}))
              << grid.str() << " " << name(axis) << " on nodes of " << per_node << ", " << words;
          straddling += stride * grid.extent(axis) % per_node != 0 && most > 1;
        }
      }
    }
  }
  EXPECT_GT(straddling, 80) << "spans that are no multiple of a node were to be tried";
}

TEST(RankOrder, IsRefusedWhereEachRanksDeviceIsSaid) {
  Point point;
  point.grid = ProcessGrid(1, 1, 1, 2, 1);
  point.options.rank_order = RankOrder::parse("x,y,z,pipe,data");
  point.what_ifs.placement = {Placing::devices, {3, 9}};

  EXPECT_THAT(refusal([&] { mapping_of(point, read_platform("frontier")); }),
              HasSubstr("the rank order cannot take effect"));
}

// Four stages with two of them in a node: neighbours may share one, the ends of the pipeline never
// do, whichever of the two sends.
TEST(GroupShapes, OfTheWrapOfAPipelineAreItsEndsBothWays) {
  GroupShapes shapes;
  shapes[static_cast<std::size_t>(Axis::pipe)] = {4, 2, 4};  // members, nodes, stride
  const auto shape = [&](const Channel& channel) { return group_shape(channel, shapes, 8); };

  EXPECT_EQ(shape(forward_from(0, 4)), (GroupShape{2, 1, 4}));
  EXPECT_EQ(shape(forward_from(3, 4)), (GroupShape{2, 2, 12}));
  EXPECT_EQ(shape(backward_from(1)), (GroupShape{2, 1, 4}));
  EXPECT_EQ(shape(backward_from(0)), (GroupShape{2, 2, 12}));
  EXPECT_EQ(shape({Axis::pipe, "ends", Group::ends}), (GroupShape{2, 2, 12}));
}

CollectiveTuning tuned(const char* words) {
  return collective_tuning(words);
}

constexpr auto gather = CollectiveKind::all_gather;
constexpr auto scatter = CollectiveKind::reduce_scatter;
constexpr auto reduce = CollectiveKind::all_reduce;

// The library chooses between ring and tree for all-reduces over nodes, and else takes the ring.
TEST(AForcedAlgorithm, MeansSomethingWhereItIsPossibleAndNotTheRingAnyway) {
  EXPECT_TRUE(applies(tuned("ring"), reduce, {16, 2, 1}));
  EXPECT_FALSE(applies(tuned("ring"), reduce, {8, 1, 1}));
  EXPECT_FALSE(applies(tuned("ring"), gather, {16, 2, 1}));
  EXPECT_FALSE(applies(tuned("ring"), scatter, {16, 2, 1}));
  EXPECT_FALSE(applies(tuned("ring"), reduce, {1, 1, 1}));
  EXPECT_TRUE(applies(tuned("recursive"), gather, {8, 1, 1}));
  EXPECT_FALSE(applies(tuned("recursive"), gather, {6, 1, 1}));
  EXPECT_TRUE(applies(tuned("hierarchical"), scatter, {16, 2, 1}));
  EXPECT_FALSE(applies(tuned("hierarchical"), scatter, {8, 1, 1}));
  EXPECT_FALSE(applies(tuned("hierarchical"), scatter, {9, 2, 1}));
  EXPECT_TRUE(applies(tuned("tree"), reduce, {16, 2, 1}));
  EXPECT_FALSE(applies(tuned("tree"), gather, {16, 2, 1}));
  EXPECT_FALSE(applies(tuned("all-gather:recursive"), reduce, {8, 1, 1}));
  EXPECT_FALSE(applies(tuned("auto"), reduce, {16, 2, 1}));
}

}  // namespace
}  // namespace fourfold::tests
