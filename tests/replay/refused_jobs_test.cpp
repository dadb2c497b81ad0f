// What jobs are refused with, at the edges of what machines, references and logs take.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "sim/estimate/estimate.hpp"
#include "sim/replay/listing.hpp"
#include "sim/replay/observer.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/strands.hpp"
#include "tests/refusal.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

TimedProgram one_reduce() {
  ProgramBuilder builder;
  builder.post(builder.collective(on::data, 1e-5, 1e6, 1e9));
  builder.wait(on::data, 0);
  return builder.take();
}

std::string said(const ProcessGrid& grid, const Platform& platform, const ReplayOptions& options) {
  return refusal<std::exception>([&] { replay_step(one_reduce(), grid, platform, options); });
}

TEST(RefusedJobs, NeedMoreDevicesThanTheMachineHas) {
  Platform four_nodes = read_platform("perlmutter");
  four_nodes.nodes = 4;

  EXPECT_EQ(said({1, 1, 1, 16}, four_nodes, {}), "accepted");
  EXPECT_EQ(said({1, 1, 1, 17}, four_nodes, {}),
            "The grid 1x1x1x17 needs 17 devices, but " + four_nodes.name + " has only 16.");
}

TEST(RefusedJobs, HaveFactorsOrPlacesForOthers) {
  const Platform crossbar = read_platform("crossbar");
  for (std::int64_t ranks : {1, 15, 16, 17}) {
    ReplayOptions options;
    options.compute_factors.assign(static_cast<std::size_t>(ranks), 1.0);
    const std::string count = std::to_string(ranks);
    EXPECT_EQ(said({2, 2, 2, 2}, crossbar, options),
              ranks == 16 ? "accepted"
                          : "Compute factors are given for " + count +
                                " ranks of 16: give one for each, or none.");
    options.compute_factors.clear();
    options.mapping = Mapping::packed(ranks);
    EXPECT_EQ(
        said({2, 2, 2, 2}, crossbar, options),
        ranks == 16 ? "accepted" : "The mapping places " + count + " ranks, but the grid has 16.");
  }
}

TEST(RefusedJobs, AskReferencesForFaults) {
  const Platform crossbar = read_platform("crossbar");
  for (Carrier carrier : {Carrier::flows, Carrier::stock_edges, Carrier::stock_steps}) {
    ReplayOptions options;
    options.carrier = carrier;
    options.faults.degrade = {{"device:0", 0.5}};
    EXPECT_EQ(said({1, 1, 1, 4}, crossbar, options),
              carrier == Carrier::flows
                  ? "accepted"
                  : "Stock SimGrid communications know no link faults: ask for the fidelity flow "
                    "or full.");
    options.faults = {};
    EXPECT_EQ(said({1, 1, 1, 4}, crossbar, options), "accepted");
  }
}

TEST(RefusedJobs, AskReferencesForMoreDevicesThanTheyTake) {
  const Platform crossbar = read_platform("crossbar");
  ReplayOptions options;
  for (const auto& [carrier, most, how] :
       {std::tuple{Carrier::stock_edges, 4096, "per ring edge (s4u)"},
        {Carrier::stock_steps, 1024, "step by step (s4u-step)"}}) {
    options.carrier = carrier;
    EXPECT_EQ(most_devices(carrier), most);
    EXPECT_EQ(
        said({1, 1, 1, most + 1}, crossbar, options),
        fmt::format("Stock SimGrid communications {} are for at most {} devices, and the grid "
                    "1x1x1x{} has {}: the default fidelity replays any number.",
                    how, most, most + 1, most + 1));
  }
}

// On paths that one communication cannot take: through a switch of a node, or with detours.
TEST(RefusedJobs, AskReferencesForPathsThatTheyCannotTake) {
  ReplayOptions options;
  options.carrier = Carrier::stock_edges;
  EXPECT_EQ(said({1, 1, 1, 8}, read_platform("dgx-h100"), options),
            "Stock communications go from device to device, but the devices of a node of this "
            "platform meet in a switch: replay it in the default fidelity.");
  const Platform frontier = read_platform("frontier");
  const std::string several =
      "A stock communication takes one path, but " + frontier.name +
      " spreads messages over several: these fidelities need a platform file with "
      "local_detours = 0 and global_detours = 0 under [network].";
  EXPECT_EQ(said({1, 1, 1, 1024}, frontier, options), several);
  const Topology topology(frontier, 400);
  const auto message = [&](const MessageEnds& ends) {
    return refusal([&] { message_strands(topology, frontier, ends, 0); });
  };
  EXPECT_EQ(message({0, 1}), "accepted");
  EXPECT_EQ(message({0, 8 * 200}), several);
}

TEST(RefusedJobs, HaveMoreRanksThanCommunicatorsCanCount) {
  const std::vector<Channel> channels(99999, made_up_channels().front());
  const ProcessGrid grid(1, 1, 1, 21475);

  EXPECT_EQ(refusal([&] { Communicators(grid, channels, std::vector<bool>(99999)); }),
            "The grid " + grid.str() + " has too many ranks to be replayed.");
  EXPECT_EQ(refusal([&] {
              Communicators(ProcessGrid(1, 1, 1, 21474), channels, std::vector<bool>(99999));
            }),
            "accepted");
}

TEST(RefusedJobs, KeepMoreLogsThanOneByteNumbers) {
  const ProcessGrid grid(1, 1, 1, 200);
  const TimedProgram program = one_reduce();
  const std::vector<IssueStream> streams = unroll(program, grid, Repetitions::full(program));
  const Communicators communicators(grid, program.channels, {false, false, false, false, true});
  const auto said = [&](std::int64_t logs) {
    std::vector<std::int64_t> ranks(static_cast<std::size_t>(logs));
    for (std::int64_t i = 0; i < logs; ++i) ranks[static_cast<std::size_t>(i)] = i;
    return refusal([&] { Observer(pointers_to(streams), communicators, grid.size(), ranks); });
  };

  EXPECT_EQ(said(127), "accepted");
  EXPECT_EQ(said(128), "Logs of at most 127 ranks can be kept.");
}

TEST(RefusedJobs, CannotBeListed) {
  const auto said = [](const ProcessGrid& grid, const std::string& machine) {
    TimedProgram program = one_reduce();
    program.channels[on::data] = {Axis::y, ""};
    return refusal([&] { listing(program, grid, read_platform(machine)); });
  };

  EXPECT_EQ(said({2, 2, 1, 1}, "perlmutter"), "accepted");  // in a node
  EXPECT_EQ(said({4, 4, 1, 1}, "perlmutter"), "accepted");  // one of each node
  EXPECT_EQ(said({2, 4, 1, 1}, "perlmutter"),
            "Ranks 0 to 6 of one group share some of their nodes, but not all: the witness takes "
            "groups inside a node of 4 devices, or with one rank a node.");
  EXPECT_EQ(said({2, 4, 1, 1}, "crossbar"), "accepted");
  EXPECT_EQ(said({2, 2, 1, 1, 2}, "crossbar"),
            "A listing says what every rank does, but the stages of a pipeline do different "
            "things: the witness takes grids without pipe.");
}

}  // namespace
}  // namespace fourfold::tests
