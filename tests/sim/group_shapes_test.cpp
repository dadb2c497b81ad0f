// How many nodes the groups of a grid lie in, packed and by a list of devices, and which forced
// algorithms can mean anything to groups of such shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "sim/conditions/conditions.hpp"
#include "sim/cost/lower.hpp"
#include "sim/cost/protocol.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/question/point_json.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

std::int64_t nodes_of(const std::vector<std::int64_t>& devices, std::int64_t per_node) {
  std::set<std::int64_t> nodes;
  for (std::int64_t device : devices) nodes.insert(device / per_node);
  return static_cast<std::int64_t>(nodes.size());
}

GroupShape of(const GroupShapes& shapes, Axis axis) {
  return shapes[static_cast<std::size_t>(axis)];
}

// Of each axis the groups whose ranks interleave from rank 0 on.
TEST(GroupShapes, LieInTheNodesOfTheirDevices) {
  int straddling = 0;
  for (const ProcessGrid& grid :
       {ProcessGrid(3, 3, 5, 2), ProcessGrid(2, 5, 3, 4), ProcessGrid(6, 2, 7, 1),
        ProcessGrid(1, 12, 1, 5), ProcessGrid(9, 1, 2, 3), ProcessGrid(4, 2, 8, 2)}) {
    for (const std::int64_t per_node : {4, 6, 8, 12}) {
      const GroupShapes shapes = group_shapes(grid, per_node);
      for (Axis axis : all_axes) {
        std::int64_t most = 0;
        for (std::int64_t first = 0; first < grid.stride(axis); ++first) {
          most = std::max(most, nodes_of(grid.line(first, axis), per_node));
        }

        EXPECT_EQ(of(shapes, axis), (GroupShape{grid.extent(axis), most, grid.stride(axis)}))
            << grid.str() << " " << name(axis) << " on nodes of " << per_node;
        straddling += grid.stride(axis) * grid.extent(axis) % per_node != 0 && most > 1;
      }
    }
  }
  EXPECT_GT(straddling, 20) << "spans that are no multiple of a node were to be tried";
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

Point job(const ProcessGrid& grid, const std::string& what_ifs) {
  Point point;
  point.platform = "frontier";
  point.model = {"small", 4, 1024, 16, 512, 32'000};
  point.grid = grid;
  point.global_batch = 64;
  point.options.micro_batches = 1;
  const nlohmann::json value = nlohmann::json::parse(what_ifs);
  point.what_ifs = read_what_ifs(JsonObject(value, "what-ifs"));
  return point;
}

const Channel along_x{Axis::x, ""};
const Channel along_y{Axis::y, ""};
const Channel z_gather{Axis::z, "gather"};
const Channel z_reduce{Axis::z, "reduce"};

Seconds cost_along(const Channel& channel, const Point& point, const Platform& platform) {
  Seconds sum;
  const TimedProgram program = lower(point, platform);
  for (const TimedCollective& one : program.collectives) {
    if (program.channels[one.channel] == channel) sum += one.uncontended;
  }
  return sum;
}

// Ranks take devices of two nodes by turns: pairs along x, neighbours if packed, lie in both, and
// what would reach over both nodes stays in one.
TEST(GroupShapes, OfAListThatAlternatesBetweenNodesAreThoseOfItsDevices) {
  const Platform frontier = read_platform("frontier");
  const ProcessGrid grid(2, 8, 1, 1);
  const Point packed = job(grid, "{}");
  const Point by_turns =
      job(grid, R"({"placement": "devices=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15"})");

  const GroupShapes shapes = group_shapes(by_turns, frontier);

  EXPECT_EQ(of(group_shapes(packed, frontier), Axis::x), (GroupShape{2, 1, 1}));
  EXPECT_EQ(of(group_shapes(packed, frontier), Axis::y), (GroupShape{8, 2, 2}));
  EXPECT_EQ(of(shapes, Axis::x), (GroupShape{2, 2, 1}));
  EXPECT_EQ(of(shapes, Axis::y), (GroupShape{8, 1, 2}));
  EXPECT_GT(cost_along(along_x, by_turns, frontier), cost_along(along_x, packed, frontier));
  EXPECT_LT(cost_along(along_y, by_turns, frontier), cost_along(along_y, packed, frontier));
}

// One pair of eight lies in two nodes: it counts for all of them, wherever it stands.
TEST(GroupShapes, OfAListAreThoseOfTheGroupInMostNodes) {
  const Platform frontier = read_platform("frontier");
  const ProcessGrid grid(2, 4, 1, 1);
  const Point last = job(grid, R"({"placement": "devices=0,1,2,3,4,5,6,8"})");
  const Point first = job(grid, R"({"placement": "devices=0,8,1,2,3,4,5,6"})");

  EXPECT_EQ(of(group_shapes(last, frontier), Axis::x).nodes, 2);
  EXPECT_EQ(of(group_shapes(first, frontier), Axis::x).nodes, 2);
  EXPECT_EQ(of(group_shapes(last, frontier), Axis::z).nodes, 1);
}

CollectiveTuning tuned(const char* words) {
  return collective_tuning(words);
}

constexpr auto gather = CollectiveKind::all_gather;
constexpr auto scatter = CollectiveKind::reduce_scatter;
constexpr auto reduce = CollectiveKind::all_reduce;

// The library chooses between ring and tree for all-reduces over nodes, and else takes the ring.
TEST(AForcedRing, MeansSomethingToAllReducesOverNodesAlone) {
  EXPECT_TRUE(applies(tuned("ring"), reduce, {16, 2, 1}));
  EXPECT_FALSE(applies(tuned("ring"), reduce, {8, 1, 1}));
  EXPECT_FALSE(applies(tuned("ring"), gather, {16, 2, 1}));
  EXPECT_FALSE(applies(tuned("ring"), scatter, {16, 2, 1}));
  EXPECT_FALSE(applies(tuned("ring"), reduce, {1, 1, 1}));
}

TEST(AForcedAlgorithm, MeansSomethingWhereItIsPossibleAndNotTheRingAnyway) {
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

// Gathers and scatters over nodes are rings anyway; a job with an axis over nodes reduces along it
// too, if only the loss.
TEST(AForcedRing, IsIdleWhereOnlyGathersOrScattersOverNodesAreToTakeIt) {
  const Platform frontier = read_platform("frontier");
  const ProcessGrid over_nodes(2, 4, 4, 1);
  for (const char* words : {"all-gather:ring", "reduce-scatter:ring"}) {
    const Point point = job(over_nodes, R"({"collective": ")" + std::string(words) + "\"}");

    EXPECT_THAT(idle_tuning(point, frontier), HasSubstr("cannot take effect")) << words;
  }
  const auto ring_on = [&](const ProcessGrid& grid) {
    return idle_tuning(job(grid, R"({"collective": "ring"})"), frontier);
  };
  EXPECT_EQ(ring_on(over_nodes), "");
  EXPECT_NE(ring_on({2, 4, 1, 1}), "");
}

// What a forced ring changes is the all-reduces, small ones of which would be trees.
TEST(AForcedRing, LeavesGathersOverNodesAsTheyAre) {
  const Platform frontier = read_platform("frontier");
  const Point free = job({2, 4, 4, 2}, "{}");
  const Point forced = job({2, 4, 4, 2}, R"({"collective": "ring"})");

  EXPECT_EQ(cost_along(z_gather, forced, frontier), cost_along(z_gather, free, frontier));
  EXPECT_GE(cost_along(z_reduce, forced, frontier), cost_along(z_reduce, free, frontier));
}

}  // namespace
}  // namespace fourfold::tests
