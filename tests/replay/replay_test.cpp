// The whole replay against a walk so small that it can be trusted, and against what must hold.
#include "sim/replay/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "sim/replay/issue_stream.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

constexpr double port_bandwidth = 25e9;  // of platforms/machines/crossbar.toml

const Platform& private_ports() {
  static const Platform platform = read_platform("crossbar");
  return platform;
}

const Platform& shared_ports() {
  static const Platform platform = read_platform("crossbar-shared");
  return platform;
}

ReplayOptions full() {
  ReplayOptions options;
  options.extent = ReplayExtent::full;
  return options;
}

// Without contention: all ranks do one operation after the other. A collective of a group starts
// when the last member has posted it and the one before is done, and takes delay + work / rate.
// A slow rank's kernels take longer; what a collective takes of them is charged anew for them.
double walk(const TimedProgram& program, const ProcessGrid& grid,
            const std::vector<double>& factors = {}) {
  const auto unrolled = [&](double factor) {
    TimedProgram slowed = program;
    for (TimedStep& step : slowed.steps) step.duration *= factor;
    return unroll(slowed, grid, Repetitions::full(slowed)).front();
  };
  const IssueStream stream = unrolled(1.0);
  std::vector<IssueStream> own;  // by rank
  for (double factor : factors) own.push_back(unrolled(factor));
  const std::int64_t ranks = grid.size();
  std::vector<double> clock(ranks, 0.0);
  // By channel, number and rank.
  std::vector<std::vector<std::vector<double>>> ends(program.channels.size());
  for (std::size_t i = 0; i < stream.operations.size(); ++i) {
    const Operation& operation = stream.operations[i];
    const auto of = [&](std::int64_t rank) -> const Operation& {
      return own.empty() ? operation : own[rank].operations[i];
    };
    for (std::int64_t rank = 0; rank < ranks; ++rank) clock[rank] += of(rank).compute.value;
    const ChannelNumber channel = operation.channel;
    if (operation.kind == Operation::Kind::wait) {
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        clock[rank] =
            std::max(clock[rank], ends[channel][operation.number][rank] + of(rank).late.value);
      }
    }
    if (operation.kind != Operation::Kind::post) continue;
    const CollectiveCost& cost =
        program.collectives[stream.posts[channel][operation.number].collective].cost;
    const double duration =
        cost.delay.value + cost.work.value / std::min(cost.rate_cap.value, port_bandwidth);
    std::vector<double> end(ranks, 0.0);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      double start = ends[channel].empty() ? 0.0 : ends[channel].back()[rank];
      for (std::int64_t member : grid.line(rank, program.channels[channel].axis)) {
        start = std::max(start, clock[member]);
      }
      end[rank] = start + duration;
    }
    ends[channel].push_back(std::move(end));
  }
  return *std::ranges::max_element(clock);
}

TEST(Replay, EqualsTheWalkWhereNothingContends) {
  for (const ProcessGrid& grid : {ProcessGrid(2, 2, 2, 1), ProcessGrid(1, 1, 1, 8),
                                  ProcessGrid(3, 2, 1, 5), ProcessGrid(4, 4, 4, 4)}) {
    for (std::uint32_t seed = 0; seed < 10; ++seed) {
      const TimedProgram program = random_program(seed);

      const Replay result = replay_step(program, grid, private_ports(), full());

      const double expected = walk(program, grid);
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

TEST(Replay, EqualsTheWalkWhenRanksComputeAtTheirOwnPace) {
  const ProcessGrid grid(3, 2, 4, 2);
  std::mt19937 random(5);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const TimedProgram program = random_program(seed);
    ReplayOptions options = full();
    for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
      options.compute_factors.push_back(1.0 + 1e-3 * static_cast<double>(random() % 100));
    }

    const Replay result = replay_step(program, grid, private_ports(), options);

    const double expected = walk(program, grid, options.compute_factors);
    EXPECT_NEAR(result.outcome.total.value, expected, 1e-9 * expected) << "seed " << seed;
  }
}

TEST(Replay, ChannelsThatOverlapHinderEachOtherOnASharedPort) {
  ProgramBuilder builder;
  const std::int32_t x = builder.collective(on::x, 1e-5, 25e6, 25e9);  // 1 ms alone
  const std::int32_t y = builder.collective(on::y, 1e-5, 25e6, 25e9);
  builder.post(x);
  builder.post(y);
  builder.wait(on::x, 0);
  builder.wait(on::y, 0);
  builder.run(1);
  builder.cycle(1);
  const TimedProgram program = builder.take();
  const ProcessGrid grid(2, 2, 1, 1);

  const double alone = replay_step(program, grid, private_ports()).outcome.total.value;
  const double shared = replay_step(program, grid, shared_ports()).outcome.total.value;

  EXPECT_NEAR(alone, 1e-5 + 1e-3, 1e-12);
  EXPECT_NEAR(shared, 1e-5 + 2e-3, 1e-12);
}

TEST(Replay, ChannelsThatDoNotOverlapDoNotFeelASharedPort) {
  ProgramBuilder builder;
  for (ChannelNumber channel : {on::x, on::y}) {
    builder.post(builder.collective(channel, 1e-5, 25e6, 25e9));
    builder.wait(channel, 0);
  }
  builder.run(1);
  builder.cycle(1);
  const TimedProgram program = builder.take();
  const ProcessGrid grid(2, 2, 1, 1);

  EXPECT_EQ(replay_step(program, grid, private_ports()).outcome.total.value,
            replay_step(program, grid, shared_ports()).outcome.total.value);
}

TEST(Replay, AChannelDoesOneCollectiveAfterTheOther) {
  ProgramBuilder builder;
  const std::int32_t slow = builder.collective(on::x, 0.0, 25e6, 25e9);  // 1 ms
  const std::int32_t quick = builder.collective(on::x, 1e-4, 0.0, 25e9);
  builder.post(slow);
  builder.post(quick);
  builder.compute(5e-4);
  builder.wait(on::x, 0);  // the quick one, which stands behind the slow one
  builder.run(1);
  builder.cycle(1);

  const Replay result = replay_step(builder.take(), ProcessGrid(2, 1, 1, 1), private_ports());

  EXPECT_NEAR(result.outcome.total.value, 1e-3 + 1e-4, 1e-12);
  EXPECT_NEAR(result.outcome.compute.value, 5e-4, 1e-15);
  EXPECT_NEAR(result.outcome.exposed[on::x].value, 6e-4, 1e-12);
  EXPECT_NEAR(result.outcome.busy[on::x].value, 1.1e-3, 1e-12);
}

TEST(Replay, WhatStartsEndsAndTimeAddsUp) {
  const ProcessGrid grid(2, 3, 2, 2);
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const TimedProgram program = random_program(seed);
    const IssueStream stream = unroll(program, grid, Repetitions::full(program)).front();
    std::int64_t posted = 0;
    for (std::size_t c = 0; c < stream.posts.size(); ++c) {
      posted += static_cast<std::int64_t>(stream.posts[c].size()) *
                (grid.size() / grid.extent(program.channels[c].axis));
    }

    const Replay result = replay_step(program, grid, shared_ports(), full());

    EXPECT_EQ(result.collectives, posted);
    const double sum = (result.outcome.compute + result.outcome.exposed_total()).value;
    EXPECT_NEAR(sum, result.outcome.total.value, 1e-9 * sum);
  }
}

TEST(Replay, TwoRunsGiveTheSameBits) {
  const TimedProgram program = training_program({});
  const Platform frontier = read_platform("frontier");
  const ProcessGrid grid(8, 4, 4, 4);

  const Replay first = replay_step(program, grid, frontier);
  const Replay second = replay_step(program, grid, frontier);

  EXPECT_EQ(first.outcome.total, second.outcome.total);
  EXPECT_EQ(first.outcome.compute, second.outcome.compute);
  EXPECT_EQ(first.outcome.exposed, second.outcome.exposed);
  EXPECT_EQ(first.outcome.busy, second.outcome.busy);
  EXPECT_GT(first.solves, 0);  // links were shared
}

// Gathers and reduce-scatters from hidden to dominating.
class Extrapolation : public ::testing::TestWithParam<Training> {};

TEST_P(Extrapolation, EqualsTheFullReplayWhereNothingContends) {
  const TimedProgram program = training_program(GetParam());
  const ProcessGrid grid(2, 2, 2, 2);

  const Replay extended = replay_step(program, grid, private_ports());
  const Replay whole = replay_step(program, grid, private_ports(), full());

  const double total = whole.outcome.total.value;
  EXPECT_TRUE(extended.extrapolated);
  EXPECT_FALSE(whole.extrapolated);
  EXPECT_LT(extended.collectives, whole.collectives);
  EXPECT_NEAR(extended.outcome.total.value, total, 1e-9 * total);
  EXPECT_NEAR(extended.outcome.compute.value, whole.outcome.compute.value, 1e-9 * total);
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    EXPECT_NEAR(extended.outcome.exposed[c].value, whole.outcome.exposed[c].value, 1e-9 * total);
    EXPECT_NEAR(extended.outcome.busy[c].value, whole.outcome.busy[c].value, 1e-9 * total);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Trainings, Extrapolation,
    ::testing::Values(Training{.layers = 96}, Training{.layers = 96, .window = 8},
                      Training{.layers = 96, .gather_work = 100e6},
                      Training{.layers = 96, .reduce_work = 200e6},
                      Training{.layers = 96, .window = 8, .reduce_work = 200e6},
                      Training{.layers = 96, .gather_work = 200e6, .reduce_work = 100e6},
                      Training{.layers = 96, .micro_batches = 32, .layer_compute = 1e-5},
                      Training{.layers = 96, .layer_compute = 1e-2}));

TEST(Extrapolation, LetsInterferenceSettle) {
  const TimedProgram program =
      training_program({.layers = 96, .window = 8, .gather_work = 100e6, .interference = 0.1});
  const ProcessGrid grid(2, 2, 2, 2);

  const Replay extended = replay_step(program, grid, private_ports());
  const Replay whole = replay_step(program, grid, private_ports(), full());

  const double total = whole.outcome.total.value;
  EXPECT_NEAR(extended.outcome.total.value, total, 1e-6 * total);
  EXPECT_NEAR(extended.outcome.compute.value, whole.outcome.compute.value, 1e-6 * total);
}

// The reduce-scatters take 3 % longer than the compute beside them: the backlog reaches the window
// only after some 60 layers, and holds the ranks up only then.
TEST(Extrapolation, SeesABacklogThatGrowsLittleByLittle) {
  const TimedProgram program =
      training_program({.layers = 96, .window = 2, .reduce_work = 80.4e6, .layer_compute = 2e-3});
  const ProcessGrid grid(2, 2, 2, 2);

  const Replay extended = replay_step(program, grid, private_ports());
  const Replay whole = replay_step(program, grid, private_ports(), full());

  const double total = whole.outcome.total.value;
  EXPECT_NEAR(extended.outcome.total.value, total, 1e-9 * total);
}

TEST(Extrapolation, AgreesWithTheFullReplayOnAMachineThatContends) {
  const TimedProgram program = training_program({.layers = 24});
  const Platform frontier = read_platform("frontier");
  const ProcessGrid grid(4, 4, 4, 4);

  const double extended = replay_step(program, grid, frontier).outcome.total.value;
  const double whole = replay_step(program, grid, frontier, full()).outcome.total.value;

  EXPECT_NEAR(extended, whole, 1e-3 * whole);
}

}  // namespace
}  // namespace fourfold::tests
