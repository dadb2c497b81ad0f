// Windows of reduce-scatters in flight, from one block to more than a step has: loops that are cut
// short must keep what waits reach back to.
#include <gtest/gtest.h>

#include <string>

#include "sim/estimate/estimate.hpp"
#include "sim/replay/extrapolation.hpp"
#include "sim/replay/replay.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t layers = 16;

Point point_with(const std::string& platform, std::int64_t window, std::int64_t micro_batches) {
  Point point;
  point.platform = platform;
  point.model = {"gpt-small", layers, 1536, 12, 1024, 4096};
  point.grid = ProcessGrid(2, 1, 4, 2);
  point.global_batch = 192;
  point.options.micro_batches = micro_batches;
  point.options.in_flight_blocks = window;
  return point;
}

ReplayOptions full() {
  ReplayOptions options;
  options.extent = ReplayExtent::full;
  return options;
}

class InFlight : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(InFlight, ExtrapolatedIsAsFullWhereNothingContends) {
  const Platform platform = read_platform("crossbar");
  for (std::int64_t micro_batches : {1, 4, 12}) {
    const Point point = point_with("crossbar", GetParam(), micro_batches);
    const TimedProgram program = lower(point, platform);

    const Outcome extended = replay_step(program, point.grid, platform).outcome;
    const Outcome whole = replay_step(program, point.grid, platform, full()).outcome;

    SCOPED_TRACE(std::to_string(micro_batches) + " micro-batches");
    const double total = whole.total.value;
    EXPECT_NEAR(extended.total.value, total, 1e-6 * total);
    EXPECT_NEAR(extended.compute.value, whole.compute.value, 1e-6 * total);
    for (std::size_t c = 0; c < program.channels.size(); ++c) {
      EXPECT_NEAR(extended.exposed[c].value, whole.exposed[c].value, 1e-6 * total);
      EXPECT_NEAR(extended.busy[c].value, whole.busy[c].value, 1e-6 * total);
    }
    EXPECT_NEAR(estimate_step(program).total.value, total, 1e-6 * total);
  }
}

TEST_P(InFlight, ExtrapolatedIsAsFullOnAMachineThatContends) {
  Platform platform = read_platform("perlmutter");
  const Point point = point_with("perlmutter", GetParam(), 4);
  const TimedProgram program = lower(point, platform);

  const double extended = replay_step(program, point.grid, platform).outcome.total.value;
  const double whole = replay_step(program, point.grid, platform, full()).outcome.total.value;

  EXPECT_NEAR(extended, whole, 1e-3 * whole);
}

INSTANTIATE_TEST_SUITE_P(Windows, InFlight,
                         ::testing::Values(1, 2, 3, 4, 5, layers - 1, layers, layers + 1,
                                           2 * layers, 1000));

// Up to three blocks, the three repetitions that are walked first hold all that waits reach.
TEST(InFlight, ShortWindowsAreWalkedAsBriefly) {
  const Platform platform = read_platform("crossbar");
  for (std::int64_t window : {1, 2, 3}) {
    const Point point = point_with("crossbar", window, 12);

    const Repetitions walked = first_repetitions(lower(point, platform), point.grid);

    for (std::int64_t one : walked.runs) EXPECT_LE(one, 3) << window;
    for (std::int64_t one : walked.cycles) EXPECT_LE(one, 2) << window;
  }
}

}  // namespace
}  // namespace fourfold::tests
