// The ladder on this machine: the runs, the order of grids that a noisy measurement tells apart,
// the targets, the tables, and what is kept.
#include "scaling/calibrate/here.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "schedule/models/fit.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/golden.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

HereCase drawn_case(int number) {
  const Draw draw(number, 8);
  const auto one_to_two = [&](const std::string& what) {
    return 1.0 + 0.001 * static_cast<double>(draw.below(what, 1000));
  };
  HereCase one;
  one.run.model.name = number < 5 ? "wide" : "deep";
  one.run.grid = ProcessGrid(1, 1, 1, std::int64_t{1} << (number % 3));
  one.measured.median = 0.2 * one_to_two("median");
  one.measured.low = one.measured.median * (1.0 - 0.02 * one_to_two("low"));
  one.measured.high = one.measured.median * (1.0 + 0.03 * one_to_two("high"));
  one.measured.exposed = 0.01 * one_to_two("exposed");
  one.measured.foreign_cores = 0.125 * number;
  one.speed = 0.6 * one_to_two("speed");
  one.simulated = {one.measured.median * one.speed * (1.0 + 0.2 * (one_to_two("off") - 1.5))};
  for (std::size_t i = 0; i < one.kernels.size(); ++i) {
    one.measured.kernels.at(i) = 0.02 * one_to_two("kernel " + std::to_string(i));
    one.kernels.at(i) = {0.02 * one_to_two("simulated kernel " + std::to_string(i))};
  }
  one.exposed = {0.01 * one_to_two("simulated exposed")};
  return one;
}

TEST(HereTables, AreTheGoldenOnes) {
  std::vector<HereCase> all;
  std::string text;
  for (int number = 0; number < 10; ++number) {
    all.push_back(drawn_case(number));
    if (number == 0 || number == 3 || number == 9) text += here_text(all) + here_json(all);
  }
  expect_golden("here_tables.txt", text);
}

TEST(HereTargets, AreMissedJustBeyondTheirBounds) {
  const auto with = [](double deviation, double worst) {
    std::vector<HereCase> all(3);
    for (std::size_t i = 0; i < 3; ++i) {
      all[i].run.model.name = "m" + std::to_string(i);
      all[i].measured.median = all[i].measured.low = all[i].measured.high = 1.0;
      all[i].simulated = {1.0 + (i == 2 ? worst : deviation)};
    }
    return missed_targets(all);
  };
  const std::string tau = "tau is 0.00 over 0 pairs, below 0.7";
  EXPECT_THAT(with(0.0999, 0.2499), ElementsAre(tau));
  EXPECT_THAT(with(-0.1001, -0.2499), ElementsAre(HasSubstr("median"), tau));
  EXPECT_THAT(with(0.0999, -0.2501), ElementsAre(HasSubstr("25.0 %"), tau));
  EXPECT_EQ(with(0.1001, 0.2501).size(), 3u);
}

// Of any pair of grids of a model that the quartiles tell apart, at the speed of each.
TEST(HereOrders, CountPairsAtTheSpeedOfTheirRuns) {
  std::vector<HereCase> all;
  for (int number = 0; number < 10; ++number) all.push_back(drawn_case(number));
  std::size_t pairs = 0, of_a_model = 0;
  int right = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (all[i].run.model.name != all[j].run.model.name) continue;
      ++of_a_model;
      const auto low = [&](std::size_t k) { return all[k].measured.low * all[k].speed; };
      const auto high = [&](std::size_t k) { return all[k].measured.high * all[k].speed; };
      if (high(i) >= low(j) && high(j) >= low(i)) continue;
      ++pairs;
      right += (low(i) < low(j)) == (all[i].simulated < all[j].simulated) ? 1 : -1;
    }
  }
  const GridOrder order = order_of(all);
  EXPECT_EQ(order.all, of_a_model);
  EXPECT_EQ(order.pairs, pairs);
  EXPECT_DOUBLE_EQ(order.tau, static_cast<double>(right) / static_cast<double>(pairs));
}

TEST(HereStore, MeasuresOnceAndAgainOnlyThroughAnotherTransport) {
  const TemporaryFolder folder;
  const std::string path = folder.file("runs.jsonl");
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
  HereStore(path).step(run, "window", measure);
  EXPECT_EQ(measured, 2);
}

TEST(HereLog, LeavesOutTheFirstSteps) {
  const TemporaryFolder folder;
  const std::string path = folder.file("log.jsonl");
  std::ofstream log(path);
  log << "{\"kind\":\"run\"}\n";
  for (double seconds : {9.0, 8.0, 7.0, 3.0, 1.0, 2.0}) {
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
}

}  // namespace
}  // namespace fourfold::tests
