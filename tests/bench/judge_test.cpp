// bench/regress: what is called a regression, which ranks are called slow, and baselines as files.
#include "bench/regress/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/measure/slow_down.hpp"
#include "bench/regress/allowance.hpp"
#include "bench/regress/report.hpp"
#include "support/json_text.hpp"
#include "tests/drawn_edits.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Rates around a typical one: most a little below, some far above, as where a neighbour pauses for
// a moment, and the whole run up to 2 % off.
Metric noisy(const std::string& name, double typical, unsigned seed) {
  std::mt19937 random(seed);
  const double here = typical * std::uniform_real_distribution<double>(0.98, 1.02)(random);
  std::normal_distribution<double> moved(1.0, 0.04);
  Metric metric{name, "Gflop/s", Scale::own_product, 0, 0, {}};
  for (int i = 0; i < 100; ++i) {
    metric.samples.push_back(here * moved(random) * (random() % 10 == 0 ? 1.2 : 1.0));
  }
  metric.judged = median(metric.samples);
  metric.value = 1000 * metric.judged;
  return metric;
}

MachineRun run_of(double typical, unsigned seed) {
  MachineRun run;
  run.fma_peak = 1000;
  run.metrics = {noisy("product", typical, seed)};
  run.metrics.push_back({"projected", "Tflop/s", Scale::exact, 1.5, 1.5, {}});
  run.of_ranks = {"FMA peak", "product"};
  run.ranks = {{0, "one", {100, 90}, {100, 0.9}}, {1, "one", {101, 91}, {101, 0.91}}};
  return run;
}

Baseline steady() {
  Baseline baseline = baseline_of({run_of(0.9, 1), run_of(0.9, 2), run_of(0.9, 3)});
  baseline.provenance.cpu = "a processor";
  baseline.provenance.build_type = "Release";
  return baseline;
}

TEST(Regress, SeesTenPerCentAndNoChange) {
  const Baseline baseline = steady();
  int seen = 0, alarms = 0;
  for (unsigned seed = 10; seed < 210; ++seed) {
    if (judge(baseline, run_of(0.9 / 1.1, seed))[0].standing == Standing::slower) ++seen;
    if (judge(baseline, run_of(0.9, seed))[0].standing != Standing::fine) ++alarms;
  }
  EXPECT_GE(seen, 190);
  EXPECT_EQ(alarms, 0);
}

TEST(Regress, NeedsBothTheMedianAndTheRanks) {
  const Baseline baseline = steady();
  MachineRun run = run_of(0.9, 5);

  run.metrics[0].judged *= 0.8;  // the median alone is low
  EXPECT_EQ(judge(baseline, run)[0].standing, Standing::fine);

  run = run_of(0.9, 5);
  for (double& sample : run.metrics[0].samples) sample *= 0.8;  // all but the median are
  EXPECT_EQ(judge(baseline, run)[0].standing, Standing::fine);

  run.metrics[0].judged *= 0.8;
  EXPECT_EQ(judge(baseline, run)[0].standing, Standing::slower);
}

// What a person allows takes the place of the bounds: of all, or of those that are named.
TEST(Regress, HoldsQuantitiesToWhatIsAllowed) {
  std::vector<std::string> wider;  // what is not held to it, unless a later word holds it
  const auto bounds = [&](const std::vector<std::string>& words) {
    Baseline baseline = steady();
    baseline.metrics.push_back({"bus", Scale::traffic, {3.0, -0.5, 0.5, "GB/s"}, 3.0, {}});
    wider = allow(words, baseline);
    std::vector<double> lower;
    for (const BaselineMetric& metric : baseline.metrics) lower.push_back(metric.reference.lower);
    return lower;
  };
  const double own = steady().metrics[0].reference.lower;
  EXPECT_EQ(bounds({}), (std::vector{own, 0.0, -0.5}));
  EXPECT_EQ(bounds({"5%"}), (std::vector{-0.05, 0.0, -0.5}));
  EXPECT_EQ(bounds({"bus=5%"}), (std::vector{own, 0.0, -0.05}));
  EXPECT_EQ(bounds({"5%", "prod=12.5%"}), (std::vector{-0.125, 0.0, -0.5}));
  for (const char* word :
       {"5", "x%", "0%", "100%", "%", "", "memory=5%", "projected=5%", "product=5"}) {
    EXPECT_THROW(bounds({word}), std::runtime_error) << word;
  }
  bounds({"5%"});
  EXPECT_EQ(wider, std::vector<std::string>{"bus"});
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{}, {"60%"}, {"bus=5%"}, {"5%", "bus=5%"}}) {
    bounds(words);
    EXPECT_EQ(wider, std::vector<std::string>{});
  }
  Baseline baseline = steady();
  allow({"20%"}, baseline);
  EXPECT_EQ(judge(baseline, run_of(0.9 / 1.1, 10))[0].standing, Standing::fine);
}

// The interval of a ratio holds it, and no change where there was none.
TEST(Regress, SaysBetweenWhatARatioLies) {
  int held = 0;
  for (unsigned seed = 10; seed < 110; ++seed) {
    const Judgement one = judge(steady(), run_of(0.9, seed))[0];
    EXPECT_LE(one.least_ratio, 1.0 + one.change);
    EXPECT_GE(one.most_ratio, 1.0 + one.change);
    held += one.least_ratio < 1.02 && one.most_ratio > 0.98 ? 1 : 0;
  }
  EXPECT_EQ(held, 100);
}

TEST(Regress, BoundsFollowTheNoiseWithinLimits) {
  for (const auto& [scale, noise, bound] : {std::tuple{Scale::own_product, 0.0, -0.06},
                                            {Scale::own_product, 0.07, -0.07},
                                            {Scale::own_product, 0.5, -0.075},
                                            {Scale::absolute, 0.01, -0.2},
                                            {Scale::absolute, 0.1, -0.2},
                                            {Scale::absolute, 0.2, -0.4},
                                            {Scale::absolute, 0.31, -0.6},
                                            {Scale::traffic, 0.01, -0.5},
                                            {Scale::traffic, 0.26, -0.52},
                                            {Scale::traffic, 0.4, -0.6},
                                            {Scale::exact, 0.2, 0.0}}) {
    EXPECT_EQ(lower_bound(scale, noise), bound) << name(scale) << ' ' << noise;
  }
  EXPECT_THROW(scale_named("exactly"), std::invalid_argument);
}

// A peer that is lucky with its pages makes no straggler of a rank as fast as ever.
TEST(Regress, NamesNoRankThatReachesTheBaseline) {
  const Baseline baseline = steady();  // 0.9 beside our own product
  MachineRun run = run_of(0.9, 1);
  run.ranks[0].beside_own[1] = 1.05;
  ASSERT_EQ(stragglers(run).size(), 1u);
  EXPECT_TRUE(stragglers(run, &baseline).empty());
  const double bound = baseline.metrics[0].judged * (1.0 + baseline.metrics[0].reference.lower);
  run.ranks[1].beside_own[1] = bound + 1e-4;
  EXPECT_TRUE(stragglers(run, &baseline).empty());
  run.ranks[1].beside_own[1] = bound - 1e-4;
  ASSERT_EQ(stragglers(run, &baseline).size(), 1u);
  EXPECT_EQ(stragglers(run, &baseline)[0].median_of_peers, 1.05);
  run.ranks[1].beside_own[0] = 60;  // the peak is no library's
  EXPECT_EQ(stragglers(run, &baseline)[0].what, "FMA peak");
}

// What an edited entry of one would not show, as it is a baseline of another machine.
TEST(Baselines, AreRefusedWithTheirNameAndTheReason) {
  const std::vector<std::pair<std::string, std::function<void(Baseline&)>>> changes{
      {"product stands there twice", [](Baseline& b) { b.metrics.push_back(b.metrics[0]); }},
      {"b.json: references is empty", [](Baseline& b) { b.metrics.clear(); }},
      {"lower must be 0 or less", [](Baseline& b) { b.metrics[0].reference.lower = 0.1; }},
      {"lower must be above -1", [](Baseline& b) { b.metrics[0].reference.lower = -1; }},
      {"value must be above 0", [](Baseline& b) { b.metrics[0].reference.value = -5; }},
      {"must be two or more", [](Baseline& b) { b.metrics[0].samples.resize(1); }},
      {"outside of samples", [](Baseline& b) { b.metrics[0].samples.assign(2, 1e-3); }},
      {"outside of samples", [](Baseline& b) { b.metrics[0].samples.assign(2, 9.0); }},
      {"ranks", [](Baseline& b) { b.ranks = 0; }}};
  for (const auto& [words, change] : changes) {
    Baseline baseline = steady();
    change(baseline);
    EXPECT_THAT(refusal<std::exception>([&] { baseline_from_json(to_json(baseline), "b.json"); }),
                AllOf(HasSubstr(words), HasSubstr("b.json")));
  }
}

TEST(Regress, EndsDrawnEditsOfABaselineInASentence) {
  edits::expect_sentences({"baseline", edits::Tree::parse(to_json(steady())),
                           [](const edits::Tree& tree) { return json_text(tree); },
                           [](const std::string& text) { baseline_from_json(text, "edited"); }});
}

TEST(Reports, AreJUnitThatNamesFailures) {
  RegressReport report;
  report.judgements = judge(steady(), run_of(0.8, 5));
  report.stragglers = {{"rank 1 on <one>", "product", 80, 90}};
  const std::string xml = regress_junit(report);
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"2\" errors=\"0\""));
  EXPECT_THAT(xml, HasSubstr("name=\"product\"><failure"));
  EXPECT_THAT(xml, HasSubstr("rank 1 on &lt;one&gt; is 11 % below"));
  EXPECT_EQ(report.status(), 1);
}

}  // namespace
}  // namespace fourfold::tests
