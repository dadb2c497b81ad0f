// A job that lost a node, whatever the order of its ranks: on the other nodes, as it lay there.
#include "scaling/find/lost_node.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sim/conditions/conditions.hpp"
#include "tests/machines.hpp"

namespace fourfold::tests {
namespace {

std::set<std::int64_t> devices_of(const Question& question, const Platform& platform) {
  const Mapping mapping = mapping_of(point_of(question, *question.grid, 1), platform);
  return {mapping.devices.begin(), mapping.devices.end()};
}

TEST(LostNode, LeavesTheJobOnTheOthersInAnyOrderOfRanks) {
  const Platform platform = read_platform(path_of_machine("dragonfly"));
  const std::int64_t in_node = platform.node.devices;
  int went_on = 0;
  for (const char* order : {"x,y,z,data,pipe", "x,y,z,pipe,data", "pipe,x,y,z,data"}) {
    for (const char* grid : {"x=4,data=4", "x=2,z=2,data=4,pipe=2", "data=8,pipe=2"}) {
      Question question;
      question.platform = path_of_machine("dragonfly");
      question.model = {"small", 4, 64, 8, 16, 128};
      question.grid = ProcessGrid::parse(grid);
      question.devices = question.grid->size();
      question.global_batch = 2 * question.grid->extent(Axis::data);
      question.options.rank_order = RankOrder::parse(order);
      const std::set<std::int64_t> whole = devices_of(question, platform);
      for (const LostNode lost : {LostNode{1, false}, LostNode{1, true}}) {
        SCOPED_TRACE(std::string(order) + " on " + grid + (lost.replaced ? " replaced" : ""));
        Question after;
        try {
          after = after_loss(question, *question.grid, lost, platform);
        } catch (const std::runtime_error& all_replicas_lost) {
          continue;
        }
        ++went_on;
        const std::set<std::int64_t> left = devices_of(after, platform);
        EXPECT_EQ(std::ssize(left), after.grid->size());
        std::int64_t moved = 0;
        for (const std::int64_t device : left) {
          EXPECT_NE(device / in_node, lost.node);
          moved += whole.contains(device) ? 0 : 1;
        }
        EXPECT_EQ(moved, lost.replaced ? in_node : 0);
      }
    }
  }
  EXPECT_GT(went_on, 12);
}

TEST(LostNode, NeedsABatchThatItsReplicasShare) {
  const Platform platform = read_platform(path_of_machine("dragonfly"));
  for (std::int64_t batch = 1; batch <= 24; ++batch) {
    Question question;
    question.model = {"small", 4, 64, 8, 16, 128};
    question.grid = ProcessGrid(2, 1, 1, 6);
    question.devices = 12;
    question.global_batch = batch;
    const auto lose = [&] { after_loss(question, *question.grid, {1, false}, platform); };
    if (batch % 6 == 0) {
      EXPECT_NO_THROW(lose()) << batch;
    } else {
      EXPECT_THROW(lose(), std::runtime_error) << batch;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
