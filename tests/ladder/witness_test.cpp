// An independent witness: the same step as an MPI program under SMPI, real rings step by step on
// the exported platform, against the replay's flows. Prints both and where they differ.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "platforms/show/simgrid_xml.hpp"
#include "sim/conditions/conditions.hpp"
#include "sim/replay/listing.hpp"
#include "sim/replay/replay.hpp"
#include "tests/ladder/points.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

// SMPI's own constants out of the way: no CPU time for sends and receives (os, or, ois), no eager
// copies but for the tokens between processes of a device, bandwidth shared plainly and in one
// direction only, as the replay shares it.
constexpr const char* smpi_options =
    "--cfg=network/model:CM02 --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:1e15 "
    "--cfg=network/loopback-bw:1e15 --cfg=smpi/os:0:0:0 --cfg=smpi/or:0:0:0 --cfg=smpi/ois:0:0:0 "
    "--cfg=smpi/async-small-thresh:1024 --cfg=smpi/send-is-detached-thresh:1024 "
    "--cfg=smpi/simulate-computation:no --cfg=contexts/guard-size:0 --log=root.thres:error";

const std::string witness = executable_path("fourfold-witness");

// Why there is no witness, as a sentence; empty if there is one.
std::string missing() {
  if (!std::filesystem::exists(witness)) {
    return "fourfold-witness was not built: smpicxx of libsimgrid-dev is missing.";
  }
  if (std::system("command -v smpirun >/dev/null") != 0) {
    return "smpirun of libsimgrid-dev is missing.";
  }
  return "";
}

struct Answers {
  double replayed = 0.0;
  double met_at_barrier = 0.0;
  double free = 0.0;
};

// Routes of an exported platform are minimal.
Platform with_minimal_routes(const std::string& name) {
  Platform platform = read_platform(name);
  if (auto* dragonfly = std::get_if<DragonflyNetwork>(&platform.network)) {
    dragonfly->local_detours = 0;
    dragonfly->global_detours = 0;
  }
  return platform;
}

// The protocol sustains what it likes: only links limit.
void lift_caps(Platform& platform) {
  for (auto* plateaus :
       {&platform.library.across, &platform.library.across_at_once, &platform.library.in_node}) {
    for (Plateau& plateau : *plateaus) plateau.bus_bandwidth = {1e13};
  }
  for (StridedPlateau& plateau : platform.library.in_node_by_stride) {
    plateau.bus_bandwidth = {1e13};
  }
}

// Of what is replayed. Measured: 0.090 % at most and 0.59 % (both Frontier without caps), 1.9 %
// (Perlmutter).
constexpr double groups_meet = 1e-3;
constexpr double rings_enter_freely = 1e-2;
constexpr double caps_bind = 3e-2;

void expect_near(double replayed, double witnessed, double tolerance) {
  EXPECT_NEAR(witnessed, replayed, tolerance * replayed);
}

class Witness : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!missing().empty()) GTEST_SKIP() << missing();
  }

  void write(const std::string& name, const std::string& content) {
    write_content(folder_.file(name), content);
  }

  // Simulated seconds; `mode` is empty or "barrier".
  double seconds(std::int64_t processes, const std::string& mode) {
    const std::string command = fmt::format(
        "cd '{}' && smpirun -platform platform.xml -hostfile hosts -np {} {} '{}' "
        "step.txt {} 2>complaint",
        std::filesystem::path(folder_.file("x")).parent_path().string(), processes, smpi_options,
        witness, mode);
    FILE* pipe = popen(command.c_str(), "r");
    double value = 0.0;
    const int read = std::fscanf(pipe, "%lf", &value);
    EXPECT_TRUE(pclose(pipe) == 0 && read == 1) << command;
    return value;
  }

  Answers walk(const TimedProgram& program, const ProcessGrid& grid, const Platform& platform,
               const ReplayOptions& options) {
    std::string hosts;
    std::int64_t channels = 0;
    for (const Channel& channel : program.channels) {
      channels += grid.extent(channel.axis) > 1 ? 1 : 0;
    }
    for (std::int64_t i = 0; i < grid.size(); ++i) hosts += fmt::format("device-{}\n", i);
    write("step.txt", listing(program, grid, platform, options.compute_factors));
    write("hosts", hosts);
    write("platform.xml", simgrid_xml(platform, grid.size()));
    const std::int64_t processes = grid.size() * (1 + channels);
    return {replay_step(program, grid, platform, options).outcome.total.value,
            seconds(processes, "barrier"), seconds(processes, "")};
  }

  // The witness knows neither that kernels slow collectives down nor plateaus that rings share.
  Answers compare(const Point& point, Platform platform) {
    platform.library.interference = 0.0;
    TimedProgram program = lower(point, platform);
    program.loads.clear();
    ReplayOptions options;
    options.extent = ReplayExtent::full;
    options.compute_factors = compute_factors(point, Mapping::packed(point.grid.size()));
    const Answers result = walk(program, point.grid, platform, options);

    const double estimated = estimate_step(program).total.value;
    fmt::print(
        "{} on {} of {}: replay {:.6f} s ({:+.2f} % on the estimate)\n"
        "  witness, groups meet before each ring, as the replay has it: {:.6f} s, {:+.4f} %\n"
        "  witness, each member enters its ring when it gets there:     {:.6f} s, {:+.4f} %\n",
        point.model.name, point.grid.str(), platform.name, result.replayed,
        100.0 * (result.replayed / estimated - 1.0), result.met_at_barrier,
        100.0 * (result.met_at_barrier / result.replayed - 1.0), result.free,
        100.0 * (result.free / result.replayed - 1.0));
    return result;
  }

  // With the protocol's caps as they are, and lifted: a real step bursts at its links' rate and
  // then pauses until the protocol's rate is met, where a flow of the replay keeps to that rate
  // throughout and so shares links otherwise; and real rings have no start barrier.
  void expect_explained(const Point& point) {
    Platform platform = with_minimal_routes(point.platform);
    const Answers capped = compare(point, platform);
    lift_caps(platform);
    const Answers links = compare(point, platform);
    expect_near(capped.replayed, capped.met_at_barrier, caps_bind);
    expect_near(capped.replayed, capped.free, caps_bind);
    expect_near(links.replayed, links.met_at_barrier, groups_meet);
    expect_near(links.replayed, links.free, rings_enter_freely);
  }

  TemporaryFolder folder_;
};

Model two_layers() {
  Model model = short_model();
  model.layers = 2;
  return model;
}

TEST_F(Witness, CrossbarWithSharedPorts) {
  expect_explained(point_on("crossbar-shared", two_layers(), {2, 2, 2, 2}));
}

TEST_F(Witness, PerlmutterWithMinimalRoutes) {
  expect_explained(point_on("perlmutter", two_layers(), {4, 2, 2, 2}));
}

TEST_F(Witness, SLOW_FrontierWithMinimalRoutes) {
  expect_explained(point_on("frontier", short_model(), {8, 2, 2, 2}));
}

TEST_F(Witness, SLOW_PerlmutterOn64Devices) {
  expect_explained(point_on("perlmutter", short_model(), {4, 2, 4, 2}));
}

// Where links alone limit, a group of four and one of eight on two nodes; a broadcast goes around
// rings, which the witness takes in one node only.
TEST_F(Witness, WhatDoesNotGoAround) {
  for (const char* machine : {"crossbar-shared", "perlmutter"}) {
    const Platform platform = with_minimal_routes(machine);
    for (std::int64_t members : {4, 8}) {
      for (const KindRow& row : collective_rows) {
        const bool wide_ring = row.motion == Motion::onward && members > platform.node.devices;
        if (row.motion == Motion::around || row.motion == Motion::one_way || wide_ring) continue;
        TimedProgram program;
        program.channels = {{Axis::x, "exchange"}};
        program.collectives = {{0, row.kind, {{1e-5}, {1e8}, {1e13}}, {1.0}}};
        program.steps = {{StepKind::post, 0, 0, 0, {}}, {StepKind::wait, 0, -1, 0, {}}};
        program.runs = {{0, 2, 1}};
        program.cycles = {{0, 1, 1}};
        ReplayOptions options;
        options.extent = ReplayExtent::full;

        const Answers both = walk(program, ProcessGrid(members, 1, 1, 1), platform, options);

        fmt::print("{} of {} on {}: replay {:.6f} s, witness {:+.4f} %\n", row.name, members,
                   machine, both.replayed, 100.0 * (both.free / both.replayed - 1.0));
        EXPECT_GT(both.replayed, 1e-4) << row.name;
        expect_near(both.replayed, both.met_at_barrier, rings_enter_freely);
        expect_near(both.replayed, both.free, rings_enter_freely);
      }
    }
  }
}

TEST_F(Witness, OneSlowDevice) {
  Point point = point_on("crossbar-shared", two_layers(), {2, 2, 2, 2});
  Platform platform = read_platform("crossbar-shared");
  lift_caps(platform);
  for (const SlowDevices& slow_devices :
       {SlowDevices{1, {}, 0.5, 0.0, {}}, SlowDevices{0, {0}, 0.5, 0.0, {}},
        SlowDevices{0, {15}, 0.5, 0.0, {}}}) {
    point.what_ifs.slow_devices = slow_devices;

    const Answers slow = compare(point, platform);

    expect_near(slow.replayed, slow.met_at_barrier, groups_meet);
    expect_near(slow.replayed, slow.free, rings_enter_freely);
  }
}

}  // namespace
}  // namespace fourfold::tests
