// Slow devices of drawn steps: all of them slow are a machine with slower kernels, and what more of
// them cost is never less.
#include "sim/replay/paces.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/estimate/estimate.hpp"
#include "sim/replay/replay.hpp"
#include "tests/drawn_points.hpp"

namespace fourfold::tests {
namespace {

TEST(Paces, AllSlowIsAMachineWithSlowerKernelsAndMoreAreNeverBetter) {
  constexpr double factor = 2.0;
  int interfered = 0;
  for (std::int64_t number = 0; number < 60; ++number) {
    const DrawnPoint drawn = drawn_point(number, 24);
    const std::int64_t ranks = drawn.point.grid.size();
    const TimedProgram program = lower(drawn.point, drawn.platform);
    TimedProgram slower = program;
    for (TimedStep& step : slower.steps) step.duration *= factor;
    for (const TimedCollective& one : program.collectives) {
      interfered += one.lost.of_kernels > 0.0 ? 1 : 0;
    }
    const auto seconds = [&](const TimedProgram& of, std::int64_t slow, double by) {
      ReplayOptions options;
      options.extent = ReplayExtent::full;
      options.quantum = Seconds{1e-12};  // rates follow every event, however long the step
      options.compute_factors.assign(static_cast<std::size_t>(ranks), 1.0);
      std::fill_n(options.compute_factors.begin(), slow, by);
      return replay_step(of, drawn.point.grid, drawn.platform, options).outcome.total.value;
    };
    SCOPED_TRACE(drawn.words + drawn.step_words);

    const double all = seconds(program, ranks, factor);

    EXPECT_NEAR(all, seconds(slower, 0, 1.0), 1e-9 * all);
    double before = seconds(program, 0, 1.0);
    for (const std::int64_t slow : {std::int64_t{1}, ranks / 2, ranks}) {
      const double now = seconds(program, slow, factor);
      // Where links are shared, who comes first may change.
      EXPECT_GE(now, before * (1.0 - 5e-3)) << slow << " slow";
      before = now;
    }
    EXPECT_LE(seconds(program, 1, 1.5), seconds(program, 1, factor) * (1.0 + 5e-3));
  }
  EXPECT_GT(interfered, 100);
}

}  // namespace
}  // namespace fourfold::tests
