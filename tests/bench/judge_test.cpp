// bench/regress: what is called a regression, which ranks are called slow, and baselines as files.
#include "bench/regress/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "bench/measure/slow_down.hpp"
#include "bench/regress/allowance.hpp"
#include "bench/regress/report.hpp"
#include "support/json_text.hpp"
#include "tests/drawn_edits.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

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

Baseline recorded() {
  Baseline baseline = baseline_of({run_of(0.9, 1), run_of(0.9, 2), run_of(0.9, 3)});
  baseline.provenance.cpu = "a processor";
  baseline.provenance.build_type = "Release";
  return baseline;
}

TEST(Regress, SeesTenPerCentAndNoChange) {
  const Baseline baseline = recorded();
  int seen = 0, alarms = 0;
  for (unsigned seed = 10; seed < 210; ++seed) {
    if (judge(baseline, run_of(0.9 / 1.1, seed))[0].standing == Standing::slower) ++seen;
    if (judge(baseline, run_of(0.9, seed))[0].standing != Standing::fine) ++alarms;
  }
  EXPECT_GE(seen, 190);
  EXPECT_EQ(alarms, 0);
}

TEST(Regress, NeedsBothTheMedianAndTheRanks) {
  const Baseline baseline = recorded();
  MachineRun run = run_of(0.9, 5);

  run.metrics[0].judged *= 0.8;  // the median alone is low
  EXPECT_EQ(judge(baseline, run)[0].standing, Standing::fine);

  run = run_of(0.9, 5);
  for (double& sample : run.metrics[0].samples) sample *= 0.8;  // all but the median are
  EXPECT_EQ(judge(baseline, run)[0].standing, Standing::fine);

  run.metrics[0].judged *= 0.8;
  EXPECT_EQ(judge(baseline, run)[0].standing, Standing::slower);
}

TEST(Regress, SaysWhatIsFasterAndWhatIsMissing) {
  EXPECT_EQ(judge(recorded(), run_of(0.99, 5))[0].standing, Standing::faster);
  MachineRun run = run_of(0.9, 5);
  run.metrics.erase(run.metrics.begin());
  RegressReport report;
  report.judgements = judge(recorded(), run);
  EXPECT_EQ(report.judgements[0].standing, Standing::missing);
  EXPECT_EQ(report.status(), 2);
}

// What a person allows takes the place of the bounds: of all, or of those that are named.
TEST(Regress, HoldsQuantitiesToWhatIsAllowed) {
  const auto bounds = [](const std::vector<std::string>& words) {
    Baseline baseline = recorded();
    baseline.metrics.push_back({"bus", Scale::traffic, {3.0, -0.5, 0.5, "GB/s"}, 3.0, {}});
    allow(words, baseline);
    std::vector<double> lower;
    for (const BaselineMetric& metric : baseline.metrics) lower.push_back(metric.reference.lower);
    return lower;
  };
  const double own = recorded().metrics[0].reference.lower;
  EXPECT_EQ(bounds({}), (std::vector{own, 0.0, -0.5}));
  EXPECT_EQ(bounds({"5%"}), (std::vector{-0.05, 0.0, -0.5}));
  EXPECT_EQ(bounds({"bus=5%"}), (std::vector{own, 0.0, -0.05}));
  EXPECT_EQ(bounds({"5%", "prod=12.5%"}), (std::vector{-0.125, 0.0, -0.5}));
  for (const char* word :
       {"5", "x%", "0%", "100%", "%", "", "memory=5%", "projected=5%", "product=5"}) {
    EXPECT_THROW(bounds({word}), std::runtime_error) << word;
  }
  // What is not held to it is named, unless a later word holds it.
  const auto wider = [](const std::vector<std::string>& words) {
    Baseline baseline = recorded();
    baseline.metrics.push_back({"bus", Scale::traffic, {3.0, -0.5, 0.5, "GB/s"}, 3.0, {}});
    return allow(words, baseline);
  };
  EXPECT_EQ(wider({"5%"}), std::vector<std::string>{"bus"});
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{}, {"60%"}, {"bus=5%"}, {"5%", "bus=5%"}}) {
    EXPECT_EQ(wider(words), std::vector<std::string>{});
  }
  Baseline baseline = recorded();
  allow({"20%"}, baseline);
  EXPECT_EQ(judge(baseline, run_of(0.9 / 1.1, 10))[0].standing, Standing::fine);
}

// The interval of a ratio holds it, and no change where there was none.
TEST(Regress, SaysBetweenWhatARatioLies) {
  int held = 0;
  for (unsigned seed = 10; seed < 110; ++seed) {
    const Judgement one = judge(recorded(), run_of(0.9, seed))[0];
    EXPECT_LE(one.least_ratio, 1.0 + one.change);
    EXPECT_GE(one.most_ratio, 1.0 + one.change);
    held += one.least_ratio < 1.02 && one.most_ratio > 0.98 ? 1 : 0;
  }
  EXPECT_EQ(held, 100);
}

TEST(Regress, RaisesNoAlarmWhereOthersUsedTheCores) {
  RegressReport report;
  report.judgements = judge(recorded(), run_of(0.7, 5));
  report.run.foreign_cores = 1.5;
  EXPECT_EQ(report.status(), 3);
  EXPECT_THAT(regress_text(report), HasSubstr("could not judge: other processes held 1.5 cores"));
  report.run.held_off = true;
  report.run.stolen_cores = 1.6;
  EXPECT_EQ(report.status(), 3);
  EXPECT_THAT(regress_text(report), HasSubstr("the hypervisor kept 1.6 cores"));
  report.run = {};
  EXPECT_EQ(report.status(), 1);
}

TEST(Regress, BoundsFollowTheNoiseWithinLimits) {
  EXPECT_EQ(lower_bound(Scale::own_product, 0.0), -0.06);
  EXPECT_EQ(lower_bound(Scale::own_product, 0.07), -0.07);
  EXPECT_EQ(lower_bound(Scale::own_product, 0.5), -0.075);
  EXPECT_EQ(lower_bound(Scale::absolute, 0.01), -0.2);
  EXPECT_EQ(lower_bound(Scale::traffic, 0.01), -0.5);
  EXPECT_EQ(lower_bound(Scale::absolute, 0.2), -0.4);
  EXPECT_EQ(lower_bound(Scale::exact, 0.2), 0.0);
}

// A peer that is lucky with its pages makes no straggler of a rank as fast as ever.
TEST(Regress, NamesNoRankThatReachesTheBaseline) {
  const Baseline baseline = recorded();  // 0.9 beside our own product
  MachineRun run = run_of(0.9, 1);
  run.ranks[0].beside_own[1] = 1.05;
  ASSERT_EQ(stragglers(run).size(), 1u);
  EXPECT_TRUE(stragglers(run, &baseline).empty());
  run.ranks[1].beside_own[1] = 0.8;
  ASSERT_EQ(stragglers(run, &baseline).size(), 1u);
  EXPECT_EQ(stragglers(run, &baseline)[0].median_of_peers, 1.05);
  run.ranks[1].beside_own[0] = 60;  // the peak is no library's
  EXPECT_EQ(stragglers(run, &baseline)[0].what, "FMA peak");
}

std::string refusal(const std::string& text) {
  return tests::refusal<std::exception>([&] { baseline_from_json(text, "b.json"); });
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = to_json(recorded());
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(Baselines, AreRefusedWithTheirNameAndTheReason) {
  EXPECT_THAT(refusal("{"), HasSubstr("b.json"));
  EXPECT_THAT(refusal("{}"), HasSubstr("kind"));
  EXPECT_THAT(refusal(changed("\"lower\": -", "\"lower\": ")),
              HasSubstr("lower must be 0 or less"));
  EXPECT_THAT(refusal(changed("own-product", "own-prodcut")), HasSubstr("own-p"));
  EXPECT_THAT(refusal(changed("\"ranks\": 2", "\"ranks\": 0")), HasSubstr("ranks"));
  EXPECT_THAT(refusal(changed("\"unit\"", "\"unti\"")), HasSubstr("unit"));
  EXPECT_THAT(refusal(changed("\"compiler\"", "\"complier\"")),
              HasSubstr("b.json, 'provenance': key 'compiler' is missing"));
  nlohmann::json value = nlohmann::json::parse(to_json(recorded()));
  value["references"] = "none";
  EXPECT_EQ(refusal(value.dump()), "b.json: references must be a list");
}

TEST(Baselines, AreRefusedWithoutReferencesAndWithOneTwice) {
  Baseline baseline = recorded();
  baseline.metrics.push_back(baseline.metrics[0]);
  EXPECT_THAT(refusal(to_json(baseline)), HasSubstr("product stands there twice"));
  baseline.metrics.clear();
  EXPECT_THAT(refusal(to_json(baseline)), HasSubstr("b.json: references is empty"));
}

TEST(Baselines, InAnotherUnitAreNotCompared) {
  Baseline baseline = recorded();
  baseline.metrics[0].reference.unit = "GB/s";
  EXPECT_THAT(tests::refusal<std::runtime_error>([&] { judge(baseline, run_of(0.9, 5)); }),
              HasSubstr("product in GB/s"));
}

TEST(Regress, EndsDrawnEditsOfABaselineInASentence) {
  edits::expect_sentences({"baseline", edits::Tree::parse(to_json(recorded())),
                           [](const edits::Tree& tree) { return json_text(tree); },
                           [](const std::string& text) { baseline_from_json(text, "edited"); }});
}

TEST(Reports, AreJUnitThatNamesFailures) {
  RegressReport report;
  report.judgements = judge(recorded(), run_of(0.8, 5));
  report.stragglers = {{"rank 1 on <one>", "product", 80, 90}};
  const std::string xml = regress_junit(report);
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"2\" errors=\"0\""));
  EXPECT_THAT(xml, HasSubstr("name=\"product\"><failure"));
  EXPECT_THAT(xml, HasSubstr("rank 1 on &lt;one&gt; is 11 % below"));
  EXPECT_EQ(report.status(), 1);
}

}  // namespace
}  // namespace fourfold::tests
