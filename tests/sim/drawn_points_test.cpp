// The closed form's answers to 140 questions drawn over all options, on the tests' own machines and
// on those that are shipped: parts add up, a slower machine takes longer by just that, logs go
// forward in time, and explanations say what they define.
#include "tests/drawn_points.hpp"

#include <gtest/gtest.h>

#include "schedule/models/model_flops.hpp"
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

// Every other one on a machine that is shipped.
DrawnPoint drawn_anywhere(std::int64_t number) {
  DrawnPoint drawn = drawn_point(number, most_devices);
  if (number % 2 != 0) move_to_a_shipped_machine(number / 2, drawn);
  return drawn;
}

TEST(DrawnPoints, AreEstimatedInPartsThatAddUp) {
  for (std::int64_t number = 0; number < points_drawn; ++number) {
    const DrawnPoint drawn = drawn_anywhere(number);
    const Estimate found = estimate_step(drawn.point, drawn.platform);
    const ExpectedWaiting waiting = expected_waiting(lower(drawn.point, drawn.platform));
    expect_parts_add_up(found.outcome, waiting.of_channels, drawn.words);
    for (const MemoryUse& stage : found.stage_memory) {
      EXPECT_LE(stage.peak.value, found.memory.peak.value) << drawn.words;
    }
    double bytes = 0.0;
    for (Bytes one : found.memory.by_role) bytes += one.value;
    EXPECT_DOUBLE_EQ(bytes, found.memory.peak.value) << drawn.words;
    const Counts& counts = found.counts;
    // The published formula counts the half of attention that a causal mask leaves out.
    EXPECT_GE(
        counts.executed().value * static_cast<double>(drawn.point.grid.size()),
        0.95 * model_flops(drawn.point.model, drawn.point.global_batch, drawn.point.options,
                               drawn.point.grid.extent(Axis::pipe)).value)
        << drawn.words;
    for (std::size_t c = 0; c < counts.channels.size(); ++c) {
      const bool cut = members(counts.channels[c], drawn.point.grid) > 1;
      EXPECT_EQ(counts.sent[c].value > 0.0, cut && counts.collectives[c] > 0) << drawn.words;
      EXPECT_TRUE(cut || found.outcome.exposed[c].value == 0.0) << drawn.words;
      EXPECT_EQ(counts.collectives[c] > 0, counts.payload[c].value > 0.0) << drawn.words;
      EXPECT_LT(counts.sent[c].value, 2.0 * counts.payload[c].value + 1.0) << drawn.words;
    }
  }
}

// On a machine that is slower in all there is, by two: no second comes from anywhere else.
TEST(DrawnPoints, TakeTwiceAsLongOnAMachineHalfAsFast) {
  for (std::int64_t number = 0; number < points_drawn; ++number) {
    const DrawnPoint drawn = drawn_anywhere(number);
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
    for (const auto& [name, time] : found.parts()) {
      sum += time.value;
      EXPECT_GE(time.value, -1e-9 * total) << drawn.words << ' ' << name;
    }
    EXPECT_NEAR(sum / total, 1.0, 1e-9) << drawn.words;
    EXPECT_EQ(found.outcome.total, estimate_step(drawn.point, drawn.platform).outcome.total);
    EXPECT_EQ(found.slower_devices.value, 0.0) << drawn.words;
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
      EXPECT_GT(ideal.time.value, 0.0) << drawn.words << ' ' << ideal.name;
      if (ideal.key != "overlap") continue;
      EXPECT_GE(ideal.time, found.outcome.compute) << drawn.words;
      for (Seconds busy : found.outcome.busy) EXPECT_GE(ideal.time, busy) << drawn.words;
    }
    EXPECT_FALSE(found.verdict().empty());
  }
}

}  // namespace
}  // namespace fourfold::tests
