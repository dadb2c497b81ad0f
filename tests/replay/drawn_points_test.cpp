// What is simulated for questions drawn over all options and what-ifs, on the tests' own machines:
// parts add up, also in the explanation, and a machine half as fast takes twice as long.
#include "tests/drawn_points.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/conditions/conditions.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/explanation.hpp"
#include "sim/replay/replay.hpp"
#include "tests/outcome_laws.hpp"
#include "tests/slowed_machine.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t points_drawn = 70;
constexpr std::int64_t most_devices = 24;

ReplayOptions options_of(const DrawnPoint& drawn, std::int64_t number) {
  const Point& point = drawn.point;
  ReplayOptions options;
  options.extent =
      Draw(number, 0).often("full", 50) ? ReplayExtent::full : ReplayExtent::extrapolated;
  options.detail = DetailWanted::explanation;
  options.mapping = mapping_of(point, drawn.platform);
  options.compute_factors = compute_factors(point, options.mapping);
  options.jitter = jitter_of(point.what_ifs);
  options.faults = {point.what_ifs.degrade, point.what_ifs.fail, point.what_ifs.background};
  return options;
}

// The replay of a drawn point, without the faults that cannot take effect in its job.
Replay replay_of(DrawnPoint& drawn, std::int64_t number, const Platform& platform) {
  const TimedProgram program = lower(drawn.point, platform);
  const auto simulated = [&] {
    return replay_step(program, drawn.point.grid, platform, options_of(drawn, number));
  };
  try {
    return simulated();
  } catch (const std::runtime_error& error) {
    EXPECT_FALSE(drawn.point.what_ifs.degrade.empty() && drawn.point.what_ifs.fail.empty())
        << error.what();
    drawn.point.what_ifs.degrade.clear();
    drawn.point.what_ifs.fail.clear();
    return simulated();
  }
}

double sum_of(const std::vector<std::pair<std::string, Seconds>>& parts) {
  double sum = 0.0;
  for (const auto& [name, time] : parts) sum += time.value;
  return sum;
}

TEST(DrawnPoints, AreSimulatedInPartsThatAddUp) {
  for (std::int64_t number = 0; number < points_drawn; ++number) {
    DrawnPoint drawn = drawn_uneven_point(number, most_devices);
    const std::string words = drawn.words + ", " + drawn.step_words;
    SCOPED_TRACE(words);

    const Replay found = replay_of(drawn, number, drawn.platform);

    const Outcome& outcome = found.outcome;
    const double total = outcome.total.value;
    expect_parts_within(outcome, words);
    std::int64_t devices = 0;
    double compute = 0.0;
    for (const ClassUse& use : found.detail->classes) {
      devices += use.devices;
      compute += use.compute.value * static_cast<double>(use.devices);
    }
    EXPECT_EQ(devices, drawn.point.grid.size());
    EXPECT_NEAR(compute / static_cast<double>(devices), outcome.compute.value, 1e-6 * total);
    for (const LinkUse& use : found.detail->links) {
      EXPECT_LE(use.busiest_utilisation, 1.0 + 1e-6) << use.link_class;
    }
    const Explanation seen =
        explain_step(drawn.point, drawn.platform, Simulated{outcome, found.detail, {}});
    EXPECT_NEAR(sum_of(seen.parts()) / total, 1.0, 1e-6);
    for (const ChannelUse& use : seen.channels) {
      EXPECT_NEAR(use.exposed.value + use.hidden.value, use.busy.value + use.waiting.value,
                  1e-6 * total);
    }
    EXPECT_FALSE(seen.verdict().empty());
  }
}

TEST(DrawnPoints, AreSimulatedTwiceAsLongOnAMachineHalfAsFast) {
  for (std::int64_t number = 0; number < points_drawn; number += 2) {
    DrawnPoint drawn = drawn_uneven_point(number, most_devices);
    const Replay was = replay_of(drawn, number, drawn.platform);
    const Replay is = replay_of(drawn, number, slowed(drawn.platform, 2.0));

    expect_times(is.outcome, was.outcome, 2.0, drawn.words, 1e-4);
  }
}

}  // namespace
}  // namespace fourfold::tests
