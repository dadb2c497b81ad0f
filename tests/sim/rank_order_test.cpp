// The order of ranks moves which axis crosses nodes: where ranks lie, in how many nodes groups do,
// and what that costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/conditions/conditions.hpp"
#include "sim/cost/lower.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/question/point_json.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

Point pipeline(const std::string& order) {
  Point point;
  point.platform = "frontier";
  point.model = {"small", 16, 2048, 16, 1024, 32'000};
  point.grid = ProcessGrid(1, 1, 1, 4, 8);
  point.global_batch = 64;
  point.options.micro_batches = 16;
  point.options.rank_order = RankOrder::parse(order);
  return point;
}

double busy(const Outcome& outcome, Axis axis) {
  double sum = 0;
  for (std::size_t c = 0; c < outcome.channels.size(); ++c) {
    if (outcome.channels[c].axis == axis) sum += outcome.busy[c].value;
  }
  return sum;
}

// Ranks are numbered x, data, pipe: rank 2 is the second copy of the first stage.
TEST(RankOrder, SaysOnWhichDeviceARankLies) {
  Point point = pipeline("x,pipe,data");
  point.grid = ProcessGrid(2, 1, 1, 2, 2);

  const Mapping mapping = mapping_of(point, read_platform("frontier"));

  EXPECT_EQ(mapping.devices, (std::vector<std::int64_t>{0, 1, 4, 5, 2, 3, 6, 7}));
}

// An order that is not its own inverse, as three axes change their places in a circle. Neighbours
// along x lie data x pipe = 6 devices apart, those along pipe 3.
TEST(RankOrder, PutsRanksWhereTheOrderSaysAndNotWhereItsInverseDoes) {
  Point point = pipeline("data,pipe,x");
  point.grid = ProcessGrid(2, 1, 1, 3, 2);  // data 3, pipe 2

  const Mapping mapping = mapping_of(point, read_platform("frontier"));

  EXPECT_EQ(mapping.devices, (std::vector<std::int64_t>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}));
}

TEST(RankOrder, MovesWhichAxisCrossesNodes) {
  const Platform frontier = read_platform("frontier");  // 8 devices a node
  const auto shape = [&](const std::string& order, Axis axis) {
    return group_shapes(pipeline(order), frontier)[static_cast<std::size_t>(axis)];
  };

  EXPECT_EQ(shape("x,y,z,data,pipe", Axis::data), (GroupShape{4, 1, 1}));
  EXPECT_EQ(shape("x,y,z,data,pipe", Axis::pipe), (GroupShape{8, 4, 4}));
  EXPECT_EQ(shape("x,y,z,pipe,data", Axis::data), (GroupShape{4, 4, 8}));
  EXPECT_EQ(shape("x,y,z,pipe,data", Axis::pipe), (GroupShape{8, 1, 1}));
}

TEST(RankOrder, CostsWhatItsAxesCrossNodesFor) {
  const Platform frontier = read_platform("frontier");

  const Outcome data_inside = estimate_step(pipeline("x,y,z,data,pipe"), frontier).outcome;
  const Outcome pipe_inside = estimate_step(pipeline("x,y,z,pipe,data"), frontier).outcome;

  EXPECT_LT(busy(data_inside, Axis::data), busy(pipe_inside, Axis::data));
  EXPECT_GT(busy(data_inside, Axis::pipe), busy(pipe_inside, Axis::pipe));
}

TEST(RankOrder, GoesThroughJson) {
  const Point point = pipeline("pipe,x,y,z,data");

  EXPECT_EQ(point_from_json(to_json(point)).options.rank_order, point.options.rank_order);
}

TEST(RankOrder, IsRefusedWhereEachRanksDeviceIsSaid) {
  Point point = pipeline("x,y,z,pipe,data");
  point.grid = ProcessGrid(1, 1, 1, 2, 1);
  point.what_ifs.placement.by = Placing::devices;
  point.what_ifs.placement.list = {3, 9};

  EXPECT_THAT(refusal([&] { mapping_of(point, read_platform("frontier")); }),
              ::testing::HasSubstr("the rank order cannot take effect"));
}

}  // namespace
}  // namespace fourfold::tests
