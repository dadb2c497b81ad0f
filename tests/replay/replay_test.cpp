// The whole replay against a walk so small that it can be trusted, against what must hold, and what
// it hands to the network of flows: the quantum where none was asked for, and rates.
#include "sim/replay/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "sim/estimate/estimate.hpp"
#include "sim/replay/issue_stream.hpp"
#include "tests/replay/apart.hpp"
#include "tests/replay/cases.hpp"

namespace fourfold::tests {
namespace {

constexpr double port_bandwidth = 25e9;  // of platforms/machines/crossbar.toml

const Platform& private_ports() {
  return platform_named("crossbar");
}

const Platform& shared_ports() {
  return platform_named("crossbar-shared");
}

double walk(const TimedProgram& program, const ProcessGrid& grid,
            const std::vector<double>& factors = {}) {
  std::vector<IssueStream> own;
  for (double factor : factors.empty() ? std::vector<double>{1.0} : factors) {
    TimedProgram slowed = program;
    for (TimedStep& step : slowed.steps) step.duration *= factor;
    own.push_back(unroll(slowed, grid, Repetitions::full(slowed)).front());
  }
  return walked_apart(program, grid, own, [](const auto&, ChannelNumber) { return port_bandwidth; })
      .apart;
}

// Of ranks that are alike, or compute at paces of their own.
TEST(Replay, EqualsTheWalkWhereNothingContends) {
  std::mt19937 random(5);
  for (const ProcessGrid& grid : {ProcessGrid(2, 2, 2, 1), ProcessGrid(1, 1, 1, 8),
                                  ProcessGrid(3, 2, 1, 5), ProcessGrid(4, 4, 4, 4)}) {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      const TimedProgram program = random_program(seed);
      ReplayOptions options = full();
      for (std::int64_t rank = 0; seed % 2 != 0 && rank < grid.size(); ++rank) {
        options.compute_factors.push_back(1.0 + 1e-3 * static_cast<double>(random() % 100));
      }

      const Replay result = replay_step(program, grid, private_ports(), options);

      const double expected = walk(program, grid, options.compute_factors);
      EXPECT_NEAR(result.outcome.total.value, expected, 1e-9 * expected)
          << grid.str() << ", seed " << seed;
    }
  }
}

TEST(Replay, EqualsTheWalkOn4096Ranks) {
  const TimedProgram program = training_program({.layers = 4, .micro_batches = 2});
  const ProcessGrid grid(8, 4, 16, 8);

  const Replay result = replay_step(program, grid, private_ports(), full());

  const double expected = walk(program, grid);
  EXPECT_NEAR(result.outcome.total.value, expected, 1e-9 * expected);
}

TEST(Replay, ChannelsThatOverlapHinderEachOtherOnASharedPort) {
  ProgramBuilder builder;
  const std::int32_t x = builder.collective(on::x, 1e-5, 25e6, 25e9);  // 1 ms alone
  const std::int32_t y = builder.collective(on::y, 1e-5, 25e6, 25e9);
  builder.post(x);
  builder.post(y);
  builder.wait(on::x, 0);
  builder.wait(on::y, 0);
  const TimedProgram program = builder.take();
  const ProcessGrid grid(2, 2, 1, 1);

  const double alone = replay_step(program, grid, private_ports()).outcome.total.value;
  const double shared = replay_step(program, grid, shared_ports()).outcome.total.value;

  EXPECT_NEAR(alone, 1e-5 + 1e-3, 1e-12);
  EXPECT_NEAR(shared, 1e-5 + 2e-3, 1e-12);
}

// Gathers and reduce-scatters from hidden to dominating. Interference has to settle. Of the last,
// reduce-scatters take 3 % longer than the compute beside them: the backlog reaches the window only
// after some 60 layers, and holds the ranks up only then.
TEST(Extrapolation, EqualsTheFullReplayWhereNothingContends) {
  const std::vector<Training> trainings{
      {.layers = 96},
      {.layers = 96, .window = 8},
      {.layers = 96, .gather_work = 100e6},
      {.layers = 96, .reduce_work = 200e6},
      {.layers = 96, .window = 8, .reduce_work = 200e6},
      {.layers = 96, .gather_work = 200e6, .reduce_work = 100e6},
      {.layers = 96, .micro_batches = 32, .layer_compute = 1e-5},
      {.layers = 96, .layer_compute = 1e-2},
      {.layers = 96, .window = 8, .gather_work = 100e6, .interference = 0.1},
      {.layers = 96, .window = 2, .reduce_work = 80.4e6, .layer_compute = 2e-3}};
  const ProcessGrid grid(2, 2, 2, 2);
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    SCOPED_TRACE(i);
    const TimedProgram program = training_program(trainings[i]);

    const Replay extended = replay_step(program, grid, private_ports());
    const Replay whole = replay_step(program, grid, private_ports(), full());

    const double total = whole.outcome.total.value;
    const double slack = (trainings[i].interference > 0.0 ? 1e-6 : 1e-9) * total;
    EXPECT_FALSE(whole.extrapolated);
    EXPECT_LE(extended.collectives, whole.collectives);
    EXPECT_NEAR(extended.outcome.total.value, total, slack);
    EXPECT_NEAR(extended.outcome.compute.value, whole.outcome.compute.value, slack);
    for (std::size_t c = 0; c < program.channels.size(); ++c) {
      EXPECT_NEAR(extended.outcome.exposed[c].value, whole.outcome.exposed[c].value, slack);
      EXPECT_NEAR(extended.outcome.busy[c].value, whole.outcome.busy[c].value, slack);
    }
    if (i >= 8) continue;
    EXPECT_TRUE(extended.extrapolated);
    EXPECT_LT(extended.collectives, whole.collectives);
  }
}

Replay on_frontier(const TimedProgram& program, Seconds quantum) {
  ReplayOptions options = full();
  options.quantum = quantum;
  return replay_step(program, ProcessGrid(4, 2, 4, 2), platform_named("frontier"), options);
}

// A training step of about `step` seconds, whose collectives take milliseconds: how many of their
// beginnings and ends share a solve depends on the quantum.
TimedProgram staggered(double step) {
  return training_program({.layers = 4, .micro_batches = 1, .layer_compute = step / 12});
}

TEST(Quantum, IsAHundredThousandthOfAStepAndAHundredMicrosecondsAtMost) {
  for (const double step : {0.02, 5000.0}) {
    const TimedProgram program = staggered(step);
    const Seconds share = estimate_step(program).total * 1e-5, most{1e-4};
    ASSERT_EQ(share < most, step < 1.0);

    const Replay own = on_frontier(program, {});
    const Replay least = on_frontier(program, std::min(share, most));
    const Replay longer = on_frontier(program, std::max(share, most));

    EXPECT_EQ(own.outcome.total, least.outcome.total) << step;
    EXPECT_EQ(own.solves, least.solves) << step;
    EXPECT_LT(longer.solves, own.solves) << step;
  }
}

// Two channels on one port of 25 GB/s: 1 GB of each at up to 20 GB/s is held up by the other,
// whatever else the channel carries before or after.
TEST(Replay, LinksThatAnyCollectiveOfAChannelCanFillDecide) {
  for (const bool slow_first : {true, false}) {
    ProgramBuilder builder;
    const std::array<ChannelNumber, 2> channels{on::x, on::y};
    std::array<std::int32_t, 2> slow{};
    std::array<std::int32_t, 2> fast{};
    for (std::size_t i = 0; i < 2; ++i) {
      if (slow_first) slow[i] = builder.collective(channels[i], 0.0, 1e6, 1e9);
      fast[i] = builder.collective(channels[i], 0.0, 1e9, 20e9);
      if (!slow_first) slow[i] = builder.collective(channels[i], 0.0, 1e6, 1e9);
    }
    for (const auto& both : {slow, fast}) {
      builder.post(both[0]);
      builder.post(both[1]);
      builder.wait(on::x, 0);
      builder.wait(on::y, 0);
    }

    const Replay result = replay_step(builder.take(), ProcessGrid(2, 2, 1, 1), shared_ports());

    EXPECT_NEAR(result.outcome.total.value, 1e6 / 1e9 + 2e9 / 25e9, 1e-9) << slow_first;
  }
}

}  // namespace
}  // namespace fourfold::tests
