// The closed form's answers to 140 questions drawn over all options, on the tests' own machines:
// parts add up, a slower machine takes longer by just that, logs go forward in time, and
// explanations say what they define.
#include "tests/drawn_points.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "schedule/fold/short_folds.hpp"
#include "sim/cost/lower.hpp"
#include "sim/cost/paper_model.hpp"
#include "sim/cost/waiting.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/explanation.hpp"
#include "tests/outcome_laws.hpp"
#include "tests/slowed_machine.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t points_drawn = 140;
constexpr std::int64_t most_devices = 96;

TEST(DrawnPoints, AreEstimatedInPartsThatAddUp) {
  for (std::int64_t number = 0; number < points_drawn; ++number) {
    const DrawnPoint drawn = drawn_point(number, most_devices);
    const Estimate found = estimate_step(drawn.point, drawn.platform);
    const ExpectedWaiting waiting = expected_waiting(lower(drawn.point, drawn.platform));
    expect_parts_add_up(found.outcome, waiting.of_channels, drawn.words);
    for (const MemoryUse& stage : found.stage_memory) {
      EXPECT_LE(stage.peak.value, found.memory.peak.value) << drawn.words;
    }
  }
}

// On a machine that is slower in all there is, by two: no second comes from anywhere else.
TEST(DrawnPoints, TakeTwiceAsLongOnAMachineHalfAsFast) {
  for (std::int64_t number = 0; number < points_drawn; ++number) {
    const DrawnPoint drawn = drawn_point(number, most_devices);
    const Platform slow = slowed(drawn.platform, 2.0);

    const Estimate was = estimate_step(drawn.point, drawn.platform),
                   is = estimate_step(drawn.point, slow);

    expect_times(is.outcome, was.outcome, 2.0, drawn.words);
    EXPECT_NEAR(paper_communication(is.counts, drawn.point.grid, slow).value,
                2.0 * paper_communication(was.counts, drawn.point.grid, drawn.platform).value,
                1e-9 * was.outcome.total.value)
        << drawn.words;
  }
}

// A device arrives before it leaves, and one thing comes after the other; of stages alike, each
// ends when the step does.
TEST(DrawnPoints, HaveLogsInTheOrderOfTime) {
  for (std::int64_t number = 0; number < points_drawn; ++number) {
    const DrawnPoint drawn = drawn_point(number, most_devices);
    const TimedProgram program = lower(drawn.point, drawn.platform);
    const std::int64_t last = drawn.point.grid.extent(Axis::pipe) - 1;
    const DeviceLog log = estimated_log(program, last);
    ASSERT_EQ(log.arrive.size(), log.leave.size());
    for (std::size_t i = 0; i < log.arrive.size(); ++i) {
      EXPECT_LE(log.arrive[i], log.leave[i] + 1e-12) << drawn.words;
      if (i > 0) {
        EXPECT_LE(log.leave[i - 1], log.arrive[i] + 1e-9) << drawn.words;
      }
    }
    for (const auto& channel : log.flights) {
      for (std::size_t i = 0; i < channel.size(); ++i) {
        EXPECT_LE(channel[i].start, channel[i].finish) << drawn.words;
        EXPECT_LE(channel[i].finish, log.end * (1.0 + 1e-9)) << drawn.words;
      }
    }
  }
}

TEST(DrawnPoints, AreExplainedInPartsThatAddUp) {
  for (std::int64_t number = 0; number < points_drawn; number += 3) {
    const DrawnPoint drawn = drawn_point(number, most_devices);
    const Explanation found = explain_step(drawn.point, drawn.platform, std::nullopt);
    const double total = found.outcome.total.value;
    double sum = 0.0;
    for (const auto& [name, time] : found.parts()) sum += time.value;
    EXPECT_NEAR(sum / total, 1.0, 1e-9) << drawn.words;
    for (const ChannelUse& use : found.channels) {
      EXPECT_NEAR(use.exposed.value + use.hidden.value, use.busy.value + use.waiting.value,
                  1e-9 * total)
          << drawn.words;
      EXPECT_LE(use.latency.value, use.busy.value * (1.0 + 1e-9) + 1e-12)
          << drawn.words << ", " << drawn.step_words;
      if (use.collectives > 0) {
        EXPECT_GE(use.members, 2) << drawn.words;
      }
    }
    for (const CollectiveUse& use : found.collectives) {
      EXPECT_TRUE(use.latency_share >= 0.0 && use.latency_share <= 1.0) << drawn.words;
      EXPECT_GT(use.count, 0) << drawn.words;
      // By its definition: (n-1)/n of the buffer a second, of an all-reduce twice.
      const auto members =
          static_cast<double>(found.channels[static_cast<std::size_t>(use.channel)].members);
      const double share = use.kind == CollectiveKind::send ? 1.0 : (members - 1) / members;
      const double passes = use.kind == CollectiveKind::all_reduce ? 2.0 : 1.0;
      EXPECT_NEAR(use.bus_bandwidth.value * use.each.value / (passes * share * use.buffer.value),
                  1.0, 1e-9)
          << drawn.words;
    }
    for (const Ideal& ideal : found.ideals) {
      // Shorter compute may bring lanes together that were apart.
      EXPECT_LE(ideal.time.value, total * (1.0 + 2e-3)) << drawn.words << ' ' << ideal.name;
      if (ideal.key != "overlap") continue;
      EXPECT_GE(ideal.time, found.outcome.compute) << drawn.words;
      for (Seconds busy : found.outcome.busy) EXPECT_GE(ideal.time, busy) << drawn.words;
    }
    EXPECT_FALSE(found.verdict().empty());
  }
}

// A pipeline whose stages have much in common is evaluated another way than stage by stage.
TEST(DrawnPoints, AreEstimatedAlikeByStageAndByPipeline) {
  for (std::int64_t number = 0; number < points_drawn; ++number) {
    const DrawnPoint drawn = drawn_point(number, most_devices);
    const Point& point = drawn.point;
    const std::vector<Folded> stages =
        folded_stages(point.model, point.options, point.grid.extent(Axis::pipe));
    Estimator estimator(drawn.platform, point);
    const std::int64_t micro_batches = point.options.micro_batches;

    const Estimate one = estimator.evaluate(stages, point.grid, micro_batches);
    const Estimate other = estimator.evaluate(Pipeline(stages), point.grid, micro_batches);

    EXPECT_NEAR(other.outcome.total.value / one.outcome.total.value, 1.0, 1e-9) << drawn.words;
    EXPECT_NEAR(other.outcome.bubble.value, one.outcome.bubble.value,
                1e-9 * one.outcome.total.value)
        << drawn.words;
    EXPECT_NEAR(other.counts.executed().value / one.counts.executed().value, 1.0, 1e-12);
    ASSERT_EQ(other.stage_memory.size(), one.stage_memory.size());
    for (std::size_t i = 0; i < one.stage_memory.size(); ++i) {
      EXPECT_EQ(other.stage_memory[i].peak.value, one.stage_memory[i].peak.value) << drawn.words;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
