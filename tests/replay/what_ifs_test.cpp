// Replays of jobs whose ranks, links or places are not alike: hand cases, and what must hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/replay/replay.hpp"
#include "tests/refusal.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

constexpr double port_bandwidth = 25e9;  // of platforms/machines/crossbar.toml

// Each of `steps` times: compute, then an all-reduce along data that all wait for.
TimedProgram data_parallel(std::int64_t steps, double compute, double work) {
  ProgramBuilder builder;
  const std::int32_t reduce = builder.collective(on::data, 1e-5, work, 1e12);
  builder.compute(compute);
  builder.post(reduce);
  builder.wait(on::data, 0);
  builder.run(steps);
  return builder.take();
}

// Rings along z over whole machines of nodes, wide enough to fill NICs.
TimedProgram heavy_rings(std::int64_t steps) {
  ProgramBuilder builder;
  const std::int32_t gather = builder.collective(on::z_gather, 1e-5, 5e8, 1e12);
  builder.compute(1e-3);
  builder.post(gather);
  builder.wait(on::z_gather, 0);
  builder.run(steps);
  return builder.take();
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.total, b.total);
  EXPECT_EQ(a.compute, b.compute);
  EXPECT_EQ(a.exposed, b.exposed);
  EXPECT_EQ(a.busy, b.busy);
}

TEST(WhatIfReplay, OneSlowDeviceHoldsUpItsDataParallelGroup) {
  const Platform crossbar = read_platform("crossbar");
  constexpr std::int64_t steps = 20;
  constexpr double compute = 1e-3;
  constexpr double work = 1e6;
  const ProcessGrid grid(1, 1, 1, 8);
  ReplayOptions options = full();
  options.compute_factors = {1, 1, 1, 1, 2, 1, 1, 1};

  const Outcome slow =
      replay_step(data_parallel(steps, compute, work), grid, crossbar, options).outcome;
  const Outcome sound =
      replay_step(data_parallel(steps, compute, work), grid, crossbar, full()).outcome;

  // All wait for the slow device in every step: total = steps (2 compute + reduce); the other seven
  // wait `compute` longer than before.
  const double reduce = 1e-5 + work / port_bandwidth;
  EXPECT_NEAR(sound.total.value, steps * (compute + reduce), 1e-9);
  EXPECT_NEAR(slow.total.value, steps * (2 * compute + reduce), 1e-9);
  EXPECT_NEAR(slow.exposed[on::data].value, steps * (reduce + compute * 7.0 / 8.0), 1e-9);
  EXPECT_NEAR(slow.compute.value, steps * compute * 9.0 / 8.0, 1e-9);
}

TEST(WhatIfReplay, JitterWithoutCollectivesAddsUpTheDraws) {
  const Platform crossbar = read_platform("crossbar");
  ReplayOptions options = full();
  options.jitter = Jitter(0.05, 3);

  const Outcome outcome =
      replay_step(data_parallel(1, 1e-3, 0.0), ProcessGrid(1, 1, 1, 4), crossbar, options).outcome;

  // Operations: the post with its compute, the wait and the mark without.
  double slowest = 0.0;
  double sum = 0.0;
  for (int rank = 0; rank < 4; ++rank) {
    slowest = std::max(slowest, 1e-3 * options.jitter.factor(rank, 0));
    sum += 1e-3 * options.jitter.factor(rank, 0);
  }
  EXPECT_NEAR(outcome.total.value, slowest + 1e-5, 1e-12);
  EXPECT_NEAR(outcome.compute.value, sum / 4, 1e-12);
}

TEST(WhatIfReplay, JitterWalksEveryRepetition) {
  const auto cut = [](const ReplayOptions& options) {
    return replay_step(data_parallel(50, 1e-3, 1e6), {1, 1, 1, 4}, read_platform("crossbar"),
                       options)
        .extrapolated;
  };
  ReplayOptions jittered;
  jittered.jitter = Jitter(0.02, 1);

  EXPECT_TRUE(cut({}));
  EXPECT_FALSE(cut(jittered));
}

TEST(WhatIfReplay, SeedsReproduceBitwiseAndDiffer) {
  const Platform frontier = read_platform("frontier");
  const TimedProgram program = training_program(Training{});
  const ProcessGrid grid(2, 2, 2, 4);
  ReplayOptions one, other;
  one.jitter = Jitter(0.02, 1);
  other.jitter = Jitter(0.02, 2);

  const Outcome first = replay_step(program, grid, frontier, one).outcome;

  expect_same(replay_step(program, grid, frontier, one).outcome, first);
  EXPECT_NE(replay_step(program, grid, frontier, other).outcome.total, first.total);
}

TEST(WhatIfReplay, PackedIsTheListOfAllDevicesBitwise) {
  const Platform frontier = read_platform("frontier");
  const ProcessGrid grid(2, 2, 2, 4);
  ReplayOptions listed = full();
  std::vector<std::int64_t> devices(32);
  for (int i = 0; i < 32; ++i) devices[i] = i;
  listed.mapping = Mapping::on_devices(32, frontier, devices);
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    const TimedProgram program = random_program(seed);

    expect_same(replay_step(program, grid, frontier, listed).outcome,
                replay_step(program, grid, frontier, full()).outcome);
  }
}

// Four NICs carry a ring each; three carry 4/3 each: the rings, which are nearly all, take 4/3.
// What is worse takes no less.
TEST(WhatIfReplay, ANicThatIsNarrowOrGoneSendsThroughTheOthers) {
  const Platform frontier = read_platform("frontier");
  const auto seconds = [&](const LinkFaults& faults) {
    ReplayOptions options = full();
    options.faults = faults;
    return replay_step(heavy_rings(3), {1, 1, 64, 1}, frontier, options).outcome.total.value;
  };
  const double sound = seconds({});
  double before = sound;
  for (double speed : {0.9, 0.5, 0.1}) {
    const double slower = seconds({{{"nic:3.2", speed}}, {}});
    EXPECT_GE(slower, before);
    before = slower;
  }
  const double failed = seconds({{}, {{"nic:3.2", 1}}});

  EXPECT_GT(before, 1.2 * sound);
  EXPECT_GE(failed, before);
  EXPECT_NEAR((failed - 3e-3) / (sound - 3e-3), 4.0 / 3.0, 0.01);
}

TEST(WhatIfReplay, RefusesFaultsThatCannotTakeEffect) {
  const auto said = [](const LinkFaults& faults) {
    ReplayOptions options;
    options.faults = faults;
    return refusal<std::exception>([&] {
      replay_step(heavy_rings(2), {1, 1, 64, 1}, read_platform("frontier"), options);
    });
  };
  const auto degraded = [&](const std::string& link) { return said({{{link, 0.5}}, {}}); };

  EXPECT_THAT(degraded("nic:99.0"), HasSubstr("no link 'nic:99.0'"));
  EXPECT_THAT(degraded("global:3-9"), HasSubstr("sends nothing over it"));
  EXPECT_THAT(degraded("foo"), HasSubstr("are nic:NODE.NIC, inner:NODE.A-B, local:GROUP.A-B, "
                                         "global:A-B"));
  EXPECT_THAT(said({{}, {{"inner:0.0-1", 1}}}), HasSubstr("cannot fail"));
  EXPECT_THAT(said({{}, {{"global:0-1", 5}}}), HasSubstr("has 4 cables"));
  EXPECT_EQ(degraded("nic:1.0"), "accepted");
  EXPECT_EQ(degraded("node 1 nic 0 out"), "accepted");
}

}  // namespace
}  // namespace fourfold::tests
