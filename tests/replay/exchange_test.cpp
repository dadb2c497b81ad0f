// What does not go around a ring, simulated: alone it takes what the estimate says, its delay and
// its bytes at the rate of its links or its cap; it has a channel of its own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "platforms/network/axis_rate.hpp"
#include "platforms/network/pair_loads.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/strands.hpp"
#include "tests/refusal.hpp"
#include "tests/replay/cases.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

constexpr double delay = 1e-4, work = 1e8;
constexpr std::array machines{"crossbar", "crossbar-shared", "perlmutter", "polaris", "frontier",
                              "alps",     "dgx-h100",        "summit"};

TimedProgram one(CollectiveKind kind, double cap) {
  ProgramBuilder builder;
  builder.post(builder.collective(on::x, delay, work, cap, kind));
  builder.wait(on::x, 0);
  return builder.take();
}

double simulated(CollectiveKind kind, double cap, const ProcessGrid& grid, const Platform& platform,
                 Carrier carrier = Carrier::flows) {
  ReplayOptions options;
  options.carrier = carrier;
  options.quantum = Seconds{1e-9};
  return replay_step(one(kind, cap), grid, platform, options).outcome.total.value;
}

// All groups of an axis at once, as the rate has it.
TEST(Exchanges, TakeWhatTheirLinksGive) {
  for (const char* machine : machines) {
    const Platform& platform = platform_named(machine);
    for (const ProcessGrid& grid : {ProcessGrid(2, 1, 1, 1), ProcessGrid(4, 1, 1, 4),
                                    ProcessGrid(8, 1, 1, 2), ProcessGrid(3, 1, 1, 4)}) {
      for (const KindRow& row : collective_rows) {
        if (!goes_by_pairs(row.motion)) continue;
        SCOPED_TRACE(fmt::format("{} on {} of {}", row.name, grid.str(), machine));
        const double rate =
            exchange_rate(platform, row.motion, {1, grid.extent(Axis::x), grid.size()}).value;

        EXPECT_NEAR(simulated(row.kind, 1e15, grid, platform), delay + work / rate,
                    1e-6 * work / rate);
        EXPECT_NEAR(simulated(row.kind, rate / 3, grid, platform), delay + 3 * work / rate,
                    1e-6 * work / rate);
      }
    }
  }
}

// Each member's link out carries all that it sends, and its link in what comes.
TEST(Exchanges, RunAtThePortsOfACrossbar) {
  const Platform& platform = platform_named("crossbar");
  const double port = platform.node.nics.front().bandwidth.value;
  for (std::int64_t members : {2, 3, 8}) {
    EXPECT_NEAR(exchange_rate(platform, Motion::pairs, {1, members, members}).value, port,
                1e-9 * port);
    EXPECT_NEAR(exchange_rate(platform, Motion::neighbours, {1, members, members}).value, port,
                1e-9 * port);
  }
}

// Two members exchange what a ring of two passes on.
TEST(Exchanges, OfTwoAreARingOfTwo) {
  for (const char* machine : machines) {
    const Platform& platform = platform_named(machine);
    const AxisRates rates(platform);
    for (std::int64_t stride : {1, 2, 8}) {
      const double ring = rates.rate(stride, 2, 2 * stride).value;
      EXPECT_NEAR(exchange_rate(platform, Motion::pairs, {stride, 2, 2 * stride}).value, ring,
                  1e-6 * ring)
          << machine << " " << stride;
    }
  }
}

// A broadcast goes along the rings of its group.
TEST(Exchanges, BroadcastsRunAsRingsDo) {
  const Platform& platform = platform_named("perlmutter");
  for (const ProcessGrid& grid : {ProcessGrid(4, 1, 1, 1), ProcessGrid(8, 1, 1, 1)}) {
    EXPECT_NEAR(simulated(CollectiveKind::broadcast, 1e15, grid, platform),
                simulated(CollectiveKind::all_gather, 1e15, grid, platform), 1e-12);
  }
}

// Their strands as stock communications, where nothing takes detours.
TEST(Exchanges, TakeAsLongAsStockCommunications) {
  const Platform& platform = platform_named("crossbar-shared");
  const ProcessGrid grid(4, 1, 1, 2);
  for (const KindRow& row : collective_rows) {
    if (!goes_by_pairs(row.motion)) continue;
    const double flows = simulated(row.kind, 1e15, grid, platform);
    for (Carrier carrier : {Carrier::stock_edges, Carrier::stock_steps}) {
      EXPECT_NEAR(simulated(row.kind, 1e15, grid, platform, carrier), flows, 0.02 * flows)
          << row.name;
    }
  }
}

TEST(Exchanges, AreRefusedBesideRingsOnOneChannel) {
  ProgramBuilder builder;
  builder.post(builder.collective(on::x, delay, work, 1e9, CollectiveKind::all_gather));
  builder.post(builder.collective(on::x, delay, work, 1e9, CollectiveKind::all_to_all));
  builder.wait(on::x, 0);
  EXPECT_EQ(refusal([&] {
              replay_step(builder.take(), {2, 1, 1, 1}, platform_named("crossbar"), {});
            }),
            "Channel x carries an all-to-all beside collectives that load other links: give it a "
            "channel of its own.");
}

TEST(Exchanges, AreRefusedBeyondTheirPairs) {
  EXPECT_EQ(refusal([] {
              exchange_rate(platform_named("frontier"), Motion::pairs, {1, 8192, 8192});
            }),
            "exchanges are counted pair by pair, and 8192 devices in groups of 8192 have 33550336 "
            "pairs; at most 1048576 are");
}

}  // namespace
}  // namespace fourfold::tests
