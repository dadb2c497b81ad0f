// What devices wait for each other: expected in closed form by the estimate, drawn device by device
// and kernel by kernel by the simulation, on jobs of 64 to 1,024 devices over all options, where
// links are nobody else's.
#include <gtest/gtest.h>

#include "sim/conditions/conditions.hpp"
#include "sim/cost/waiting.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/replay/replay.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/machines.hpp"

namespace fourfold::tests {
namespace {

constexpr int jobs_drawn = 20;
constexpr double apart_at_most = 0.03;
// Large enough that who leaves either out is further off than that.
constexpr double of_devices = 0.06;
constexpr double of_repetitions = 0.2;

Platform machine_with_spreads() {
  Platform platform = read_platform(path_of_machine("crossbar-private"));
  platform.processor.spread = of_devices;
  platform.processor.repetition_spread = of_repetitions;
  return platform;
}

// The next job at or after the number that fits together.
Point drawn_job(std::int64_t& number) {
  for (;; ++number) {
    const Draw draw(number, 0);
    Point point;
    point.platform = path_of_machine("crossbar-private");
    point.grid = ProcessGrid(
        draw.of<std::int64_t>("x", {1, 2, 4, 8}), draw.of<std::int64_t>("y", {1, 1, 2, 4}),
        draw.of<std::int64_t>("z", {1, 4, 8, 16}), draw.of<std::int64_t>("data", {1, 4, 16, 32}),
        draw.of<std::int64_t>("pipe", {1, 1, 2, 4}));
    if (point.grid.size() < 64 || point.grid.size() > 1024) continue;
    const auto order = point.grid.extent(Axis::pipe) > 1 && draw.often("interleaved", 30)
                           ? PipelineOrder::interleaved
                           : PipelineOrder::one_f_one_b;
    point.model = {"drawn", 8, draw.of<std::int64_t>("hidden", {3072, 6144}), 24, 4096, 49'152};
    point.options = drawn_options(draw, order, draw.of<std::int64_t>("zero", {0, 0, 1, 3}));
    point.options.offload_bucket = 0;
    point.global_batch = batch_unit(point.grid, point.options.micro_batches);
    const Misfit found = find_misfit(point.model, point.grid, point.global_batch, point.options);
    if (found == Misfit::none) return point;
  }
}

double simulated(const Point& point, const Platform& platform) {
  ReplayOptions options;
  WhatIfs what_ifs;
  what_ifs.draws_spreads = true;
  options.jitter = jitter_of(what_ifs);
  return replay_step(without_expectations(lower(point, platform)), point.grid, platform, options)
      .outcome.total.value;
}

TEST(DrawnSpreads, AreAsTheClosedFormExpects) {
  const Platform platform = machine_with_spreads();
  int far_without = 0, far_without_devices = 0, far_without_repetitions = 0;
  std::int64_t number = 0;
  for (int job = 0; job < jobs_drawn; ++job, ++number) {
    const Point point = drawn_job(number);
    SCOPED_TRACE(std::to_string(number) + ": " +
                 words_of({point.model, point.grid, point.global_batch, point.options}));
    const double drawn = simulated(point, platform);
    Platform without = platform;

    EXPECT_NEAR(estimate_step(lower(point, platform)).total.value / drawn, 1.0, apart_at_most);

    const auto far = [&] {
      return estimate_step(lower(point, without)).total.value < (1.0 - apart_at_most) * drawn;
    };
    without.processor.spread = 0.0;
    if (far()) ++far_without_devices;
    without.processor.repetition_spread = 0.0;
    if (far()) ++far_without;
    without.processor.spread = platform.processor.spread;
    if (far()) ++far_without_repetitions;
  }
  EXPECT_GT(far_without, jobs_drawn * 3 / 4);  // or nothing was asked
  EXPECT_GT(far_without_devices, 2);
  EXPECT_GT(far_without_repetitions, 2);
}

}  // namespace
}  // namespace fourfold::tests
