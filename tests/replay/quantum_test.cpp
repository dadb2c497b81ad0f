// What a replay hands to the network of flows: the quantum where none was asked for, and the rates
// that collectives of a channel may reach.
#include <gtest/gtest.h>

#include "sim/estimate/estimate.hpp"
#include "sim/replay/replay.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

Replay on_frontier(const TimedProgram& program, Seconds quantum) {
  static const Platform frontier = read_platform("frontier");
  ReplayOptions options;
  options.quantum = quantum;
  options.extent = ReplayExtent::full;
  return replay_step(program, ProcessGrid(4, 2, 4, 2), frontier, options);
}

// A training step of about `step` seconds, whose collectives take milliseconds: how many of their
// beginnings and ends share a solve depends on the quantum.
TimedProgram staggered(double step) {
  return training_program({.layers = 4, .micro_batches = 1, .layer_compute = step / 12});
}

TEST(Quantum, IsAHundredThousandthOfAShortStep) {
  const TimedProgram program = staggered(0.02);
  const Seconds expected = estimate_step(program).total * 1e-5;
  ASSERT_LT(expected, Seconds{1e-4});

  const Replay own = on_frontier(program, {});
  const Replay asked = on_frontier(program, expected);
  const Replay most = on_frontier(program, Seconds{1e-4});

  EXPECT_EQ(own.outcome.total, asked.outcome.total);
  EXPECT_EQ(own.solves, asked.solves);
  EXPECT_LT(most.solves, own.solves);
}

TEST(Quantum, IsAHundredMicrosecondsInALongStep) {
  const TimedProgram program = staggered(5000.0);
  ASSERT_GT(estimate_step(program).total, Seconds{1000.0});

  const Replay own = on_frontier(program, {});
  const Replay asked = on_frontier(program, Seconds{1e-4});
  const Replay share = on_frontier(program, estimate_step(program).total * 1e-5);

  EXPECT_EQ(own.outcome.total, asked.outcome.total);
  EXPECT_EQ(own.solves, asked.solves);
  EXPECT_LT(share.solves, own.solves);
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
    builder.run(1);
    builder.cycle(1);

    const Replay result =
        replay_step(builder.take(), ProcessGrid(2, 2, 1, 1), read_platform("crossbar-shared"));

    EXPECT_NEAR(result.outcome.total.value, 1e6 / 1e9 + 2e9 / 25e9, 1e-9) << slow_first;
  }
}

}  // namespace
}  // namespace fourfold::tests
