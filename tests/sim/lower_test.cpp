// Lowering, by hand: in how many nodes a group lies, what a forced algorithm can change, and that
// both ways to an estimate put the same seconds in.
#include "sim/cost/lower.hpp"

#include <gtest/gtest.h>

#include "sim/estimate/estimate.hpp"

namespace fourfold::tests {
namespace {

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

}  // namespace
}  // namespace fourfold::tests
