// The rungs on real machines: contention can only cost time, two runs give the same bits, and the
// executable says what the library says.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "schedule/models/model_file.hpp"
#include "sim/question/replay_answer.hpp"
#include "sim/replay/replay.hpp"
#include "tests/ladder/points.hpp"
#include "tests/paths.hpp"

namespace fourfold::tests {
namespace {

// The estimate gives every collective the rate it has among the sibling groups of its axis: the
// mean over links of a kind. The simulation resolves single links, so a ring that happens to lie on
// less loaded ones may be a little faster; the sum over channels and layers stays within this.
constexpr double faster_by_at_most = 0.05;

std::vector<Point> points_on_machines() {
  std::vector<Point> points;
  for (const char* name : {"frontier", "perlmutter"}) {
    for (const ProcessGrid& grid :
         {ProcessGrid(2, 2, 2, 2), ProcessGrid(4, 2, 4, 2), ProcessGrid(8, 4, 4, 4),
          ProcessGrid(1, 2, 16, 4), ProcessGrid(3, 4, 2, 5), ProcessGrid(2, 1, 1, 32)}) {
      points.push_back(point_on(name, short_model(), grid));
    }
  }
  return points;
}

TEST(Machines, ContentionCostsTime) {
  for (const Point& point : points_on_machines()) {
    const Platform platform = read_platform(point.platform);
    const TimedProgram program = lower(point, platform);

    const double estimated = estimate_step(program).total.value;
    const double simulated = replay_step(program, point.grid, platform).outcome.total.value;

    EXPECT_GE(simulated, estimated * (1.0 - faster_by_at_most)) << describe(point);
  }
}

TEST(Machines, ExtendedLayersEqualAllLayers) {
  ReplayOptions all;
  all.extent = ReplayExtent::full;
  for (const char* name : {"frontier", "perlmutter"}) {
    for (const ProcessGrid& grid : {ProcessGrid(4, 2, 4, 2), ProcessGrid(2, 4, 8, 4)}) {
      const Platform platform = read_platform(name);
      const Point point = point_on(name, read_model("gpt-5b"), grid);
      const TimedProgram program = lower(point, platform);

      const double extended = replay_step(program, grid, platform).outcome.total.value;
      const double whole = replay_step(program, grid, platform, all).outcome.total.value;

      EXPECT_NEAR(extended, whole, 1e-3 * whole) << describe(point);
    }
  }
}

void expect_same_bits(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.total.value, b.total.value);
  EXPECT_EQ(a.compute.value, b.compute.value);
  EXPECT_EQ(a.exposed, b.exposed);
  EXPECT_EQ(a.busy, b.busy);
}

TEST(Machines, TwoRunsGiveTheSameBits) {
  const Platform platform = read_platform("frontier");
  const Point point = point_on("frontier", short_model(), ProcessGrid(5, 4, 8, 3));
  ReplayOptions jittered;
  for (std::int64_t rank = 0; rank < point.grid.size(); ++rank) {
    jittered.compute_factors.push_back(1.0 + 1e-3 * static_cast<double>(rank * 37 % 20));
  }
  for (const ReplayOptions& options : {ReplayOptions{}, jittered}) {
    const TimedProgram program = lower(point, platform);

    const Replay first = replay_step(program, point.grid, platform, options);
    const Replay second = replay_step(program, point.grid, platform, options);

    expect_same_bits(first.outcome, second.outcome);
    EXPECT_EQ(first.events, second.events);
  }
}

// Runs fourfold-replay on a point; returns what it writes.
std::string answer_of_executable(const Point& point, const std::string& flags) {
  const std::string path = ::testing::TempDir() + "ladder_point.json";
  std::ofstream(path) << to_json(point);
  const std::string command = executable_path("fourfold-replay") + " " + flags + " < " + path;
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

TEST(Machines, TheExecutableSaysWhatTheLibrarySays) {
  for (const char* name : {"frontier", "crossbar"}) {
    const Platform platform = read_platform(name);
    const Point point = point_on(name, short_model(), ProcessGrid(4, 2, 2, 4));
    const Replay own = replay_step(lower(point, platform), point.grid, platform);

    const ReplayAnswer told = replay_answer_from_json(answer_of_executable(point, ""));

    expect_same_bits(own.outcome, told.outcome);
    EXPECT_EQ(own.extrapolated, told.extrapolated);
    EXPECT_EQ(own.disagreement, told.extrapolation_check);
    EXPECT_EQ(own.collectives, told.collectives);
  }
}

}  // namespace
}  // namespace fourfold::tests
