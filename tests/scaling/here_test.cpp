// The ladder on this machine: the runs, the order of grids that a noisy measurement tells apart,
// the targets, and what is kept.
#include "scaling/calibrate/here.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "schedule/models/fit.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

HereCase made_up(const std::string& model, double measured, double spread, double simulated) {
  HereCase one;
  one.run.model.name = model;
  one.measured.median = measured;
  one.measured.low = measured - spread;
  one.measured.high = measured + spread;
  one.simulated = {simulated};
  return one;
}

std::string scratch_file(const std::string& name) {
  return (std::filesystem::temp_directory_path() /
          ("fourfold-here-" + std::to_string(::getpid()) + name))
      .string();
}

TEST(HereRuns, AreThreeModelsOnEightGridsAndMoreThatFitThem) {
  std::set<std::string> models, grids;
  for (const HereRun& run : here_runs()) {
    models.insert(run.model.name);
    grids.insert(run.grid.str());
    EXPECT_EQ(misfit(run.model, run.grid, run.batch, run.options), "") << run.id();
    EXPECT_LE(run.grid.size(), 4) << run.id();
  }
  EXPECT_EQ(models.size(), 3u);
  EXPECT_GE(grids.size(), 8u);
}

TEST(HereTargets, AreSaidToBeMissedOneByOne) {
  EXPECT_TRUE(
      missed_targets({made_up("a", 1.0, 0.01, 1.05), made_up("a", 2.0, 0.01, 1.9)}).empty());

  const auto missed = missed_targets({made_up("a", 1.0, 0.01, 1.3), made_up("a", 2.0, 0.01, 1.2)});

  ASSERT_EQ(missed.size(), 3u);
  EXPECT_THAT(missed[0], HasSubstr("median"));
  EXPECT_THAT(missed[1], HasSubstr("40.0 %"));
  EXPECT_THAT(missed[2], HasSubstr("tau is -1.00 over 1 pairs"));
}

TEST(HereStore, MeasuresOnceAndAgainOnlyThroughAnotherTransport) {
  const std::string path = scratch_file("runs.jsonl");
  const HereRun run = here_runs().front();
  int measured = 0;
  const auto measure = [&] {
    ++measured;
    HereStep step;
    step.median = 0.5;
    step.kernels = {0.1, 0.2, 0.3, 0.4};
    return step;
  };

  HereStore(path).step(run, "ring", measure);
  std::ofstream(path, std::ios::app) << "{\"run\": {\"cut o";  // the power failed
  const HereStep again = HereStore(path).step(run, "ring", measure);

  EXPECT_EQ(measured, 1);
  EXPECT_DOUBLE_EQ(again.kernels[2], 0.3);
  EXPECT_TRUE(HereStore(path).has(run, "ring"));
  EXPECT_FALSE(HereStore(path).has(run, "window"));
  std::filesystem::remove(path);
}

TEST(HereLog, LeavesOutTheFirstSteps) {
  const std::string path = scratch_file("log.jsonl");
  std::ofstream log(path);
  log << "{\"kind\":\"run\"}\n";
  for (double seconds : {9.0, 8.0, 7.0, 1.0, 2.0, 3.0}) {
    log << "{\"kind\":\"step\",\"seconds\":" << seconds
        << ",\"reference_s\":1e-4,\"exposed_s\":{\"x\":0.25,\"data\":0.5},\"kernels_s\":{"
           "\"product\":0.5,"
           "\"attention\":0.1,\"update\":0.3,\"map\":0.2}}\n";
  }
  log.close();

  const HereStep step = step_of_log(path);

  EXPECT_DOUBLE_EQ(step.median, 2.0);
  EXPECT_EQ(step.steps, 3);
  EXPECT_DOUBLE_EQ(step.exposed, 0.75);
  EXPECT_DOUBLE_EQ(step.kernels[memory_group], 0.2);
  EXPECT_DOUBLE_EQ(step.kernels[optimizer_group], 0.3);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace fourfold::tests
