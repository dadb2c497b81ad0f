// bench/regress: what is called a regression, which of two runs counts, who lags behind, baselines
// as files, and what is said of it all, in a table, JSON and JUnit's XML.
#include "bench/regress/judge.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "bench/measure/slow_down.hpp"
#include "bench/regress/allowance.hpp"
#include "bench/regress/report.hpp"
#include "bench/regress/suite.hpp"
#include "support/json_text.hpp"
#include "support/random.hpp"
#include "tests/drawn_edits.hpp"
#include "tests/golden.hpp"
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
  const auto bounds = [](const std::vector<std::string>& words) {
    Baseline baseline = steady();
    baseline.metrics.push_back({"bus", Scale::traffic, {3.0, -0.5, 0.5, "GB/s"}, 3.0, {}});
    allow(words, baseline);
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
  // What is not held to it is named, unless a later word holds it.
  const auto wider = [](const std::vector<std::string>& words) {
    Baseline baseline = steady();
    baseline.metrics.push_back({"bus", Scale::traffic, {3.0, -0.5, 0.5, "GB/s"}, 3.0, {}});
    return allow(words, baseline);
  };
  EXPECT_EQ(wider({"5%"}), std::vector<std::string>{"bus"});
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{}, {"60%"}, {"bus=5%"}, {"5%", "bus=5%"}}) {
    EXPECT_EQ(wider(words), std::vector<std::string>{});
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

Metric metric(const std::string& name, Scale scale, double value, double judged,
              const Sample& samples = {}) {
  return {name, scale == Scale::exact ? "Tflop/s" : "Gflop/s", scale, value, judged, samples};
}

double drawn(std::uint64_t seed, std::uint64_t number) {
  return static_cast<double>(random_at(seed, 1, number) % 1000) / 1000.0;
}

Provenance provenance() {
  Provenance from;
  from.commit = "abc";
  from.cpu = "a \"processor\" & more";
  from.build_type = "Release";
  from.host = "host <1>";
  from.time = "2026-01-02T03:04:05Z";
  from.seed = 7;
  return from;
}

Sample around(double middle, int count) {
  Sample sample;
  for (int i = 0; i < count; ++i) sample.push_back(middle * (1.0 + 0.01 * (i % 7 - 3)));
  return sample;
}

// Of each scale one quantity, times what it differs by from the recorded one.
MachineRun run_of(double product, double memory, double bus, double projected) {
  MachineRun run;
  run.fma_peak = 1234.5 * product;
  run.metrics = {
      metric("product", Scale::own_product, 500.25 * product, 0.9 * product,
             around(0.9 * product, 30)),
      metric("memory", Scale::absolute, 9.875 * memory, 9.875 * memory, around(9.875 * memory, 21)),
      metric("bus", Scale::traffic, 3.5 * bus, 3.5 * bus, around(3.5 * bus, 14)),
      metric("projected", Scale::exact, 1.25 * projected, 1.25 * projected)};
  run.of_ranks = {"FMA peak", "product", "memory copy"};
  run.ranks = {{0, "one", {100, 90, 5}, {100, 0.9, 5}}, {1, "one", {101, 91, 4}, {101, 0.91, 4}}};
  return run;
}

Baseline recorded() {
  return baseline_of({run_of(1, 1, 1, 1), run_of(1.02, 1.1, 1.2, 1), run_of(0.99, 0.95, 0.9, 1)});
}

TEST(Baselines, HoldTheMiddleOfEachQuantityAndWhatItMovedBy) {
  const Baseline baseline = recorded();

  EXPECT_EQ(baseline.fma_peak, 1234.5);
  EXPECT_EQ(baseline.ranks, 2);
  ASSERT_EQ(baseline.metrics.size(), 4u);
  const std::vector<double> lower{-0.06, -2.0 * (1.0 - 0.95 / 1.1), -0.5, 0.0};
  const std::vector<double> values{500.25, 9.875, 3.5, 1.25};
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const BaselineMetric& one = baseline.metrics[i];
    EXPECT_NEAR(one.reference.lower, lower[i], 1e-12) << one.name;
    EXPECT_NEAR(one.reference.upper, -lower[i], 1e-12) << one.name;
    EXPECT_EQ(one.reference.value, values[i]) << one.name;
    EXPECT_EQ(one.judged, run_of(1, 1, 1, 1).metrics[i].judged) << one.name;
    EXPECT_EQ(one.samples, run_of(1, 1, 1, 1).metrics[i].samples) << one.name;
    EXPECT_EQ(one.reference.unit, run_of(1, 1, 1, 1).metrics[i].unit) << one.name;
  }
  const nlohmann::json json = nlohmann::json::parse(to_json(baseline));
  EXPECT_EQ(json["fma_peak_Gflops"], 1234.5);
  EXPECT_EQ(json["ranks"], 2);
  ASSERT_EQ(json["references"].size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const nlohmann::json& one = json["references"][i];
    EXPECT_EQ(one["name"], baseline.metrics[i].name);
    EXPECT_EQ(one["unit"], baseline.metrics[i].reference.unit);
    EXPECT_EQ(one["value"], values[i]);
    EXPECT_EQ(one["on_scale"], baseline.metrics[i].judged);
    EXPECT_NEAR(one["lower"].get<double>(), lower[i], 1e-12);
    EXPECT_NEAR(one["upper"].get<double>(), -lower[i], 1e-12);
  }
}

// A quantity just inside its bounds is fine, and one just outside is not.
TEST(Judgements, ChangeAtTheBounds) {
  const Baseline baseline = recorded();
  for (std::size_t i = 0; i < 3; ++i) {
    const Reference& reference = baseline.metrics[i].reference;
    const auto standing_at = [&](double change) {
      MachineRun run = run_of(1, 1, 1, 1);
      run.metrics[i].judged *= 1.0 + change;
      for (double& sample : run.metrics[i].samples) sample *= 1.0 + change;
      const Judgement judgement = judge(baseline, run)[i];
      EXPECT_NEAR(judgement.change, change, 1e-12);
      return judgement.standing;
    };
    EXPECT_EQ(standing_at(reference.lower + 1e-6), Standing::fine);
    EXPECT_EQ(standing_at(reference.lower - 1e-6), Standing::slower);
    EXPECT_EQ(standing_at(reference.upper - 1e-6), Standing::fine);
    EXPECT_EQ(standing_at(reference.upper + 1e-6), Standing::faster);
  }
}

TEST(Judgements, AreOfTheScaleAndUnitThatWereRecorded) {
  Baseline baseline = recorded();
  baseline.metrics[1].scale = Scale::traffic;
  EXPECT_THROW(judge(baseline, run_of(1, 1, 1, 1)), std::runtime_error);
  baseline = recorded();
  baseline.metrics[1].reference.unit = "GB/s";
  EXPECT_THROW(judge(baseline, run_of(1, 1, 1, 1)), std::runtime_error);
  baseline = recorded();
  std::swap(baseline.metrics[0], baseline.metrics[2]);  // found by name, whatever their order
  EXPECT_EQ(judge(baseline, run_of(1, 1, 1, 1))[0].name, "bus");
  EXPECT_EQ(judge(baseline, run_of(1, 1, 1, 1))[0].standing, Standing::fine);
}

// Of each quantity the whole run counts that is better on its scale; of what disturbed, the worse.
TEST(TwoRuns, GiveTheBetterOfEachQuantityOnItsScale) {
  MachineRun one = run_of(1, 1, 1, 1), other = run_of(0.9, 1.1, 0.9, 1);
  other.metrics[0].value = 2 * one.metrics[0].value;  // a faster clock, of both products
  one.metrics[1].value = 2 * other.metrics[1].value;
  one.foreign_cores = 0.5;
  other.foreign_cores = 0.25;
  one.stolen_cores = 0.125;
  other.stolen_cores = 0.75;
  other.ranks[0] = {0, "one", {90, 95, 6}, {120, 0.8, 3}};

  for (const MachineRun& best : {better_of(one, other), better_of(other, one)}) {
    EXPECT_EQ(best.fma_peak, one.fma_peak);
    EXPECT_EQ(best.foreign_cores, 0.5);
    EXPECT_EQ(best.stolen_cores, 0.75);
    for (std::size_t i = 0; i < best.metrics.size(); ++i) {
      const Metric& expected = i == 1 ? other.metrics[i] : one.metrics[i];
      EXPECT_EQ(best.metrics[i].judged, expected.judged) << i;
      EXPECT_EQ(best.metrics[i].value, expected.value) << i;
      EXPECT_EQ(best.metrics[i].samples, expected.samples) << i;
    }
    EXPECT_EQ(best.ranks[0].rates, (std::vector<double>{100, 95, 6}));
    EXPECT_EQ(best.ranks[0].beside_own, (std::vector<double>{120, 0.9, 5}));
    EXPECT_EQ(best.ranks[1].rates, one.ranks[1].rates);
  }
}

// Of whom, in which quantity: every unit against the median of all others.
std::vector<std::pair<std::string, std::string>> laggards(
    const std::vector<std::pair<std::string, std::vector<double>>>& units,
    const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> found;
  for (std::size_t u = 0; u < units.size(); ++u) {
    double lowest = share_of_peers;
    std::string what;
    for (std::size_t i = 0; i < names.size(); ++i) {
      Sample others;
      for (std::size_t v = 0; v < units.size(); ++v) {
        if (v != u) others.push_back(units[v].second[i]);
      }
      if (others.empty()) continue;
      std::sort(others.begin(), others.end());
      const double peers = others[others.size() / 2];  // the upper one of an even number
      if (units[u].second[i] / peers < lowest) {
        lowest = units[u].second[i] / peers;
        what = names[i];
      }
    }
    if (!what.empty()) found.emplace_back(units[u].first, what);
  }
  return found;
}

TEST(Stragglers, AreThoseFurthestBehindTheMedianOfTheOthers) {
  std::int64_t seen = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    MachineRun run;
    run.of_ranks = {"FMA peak", "product", "memory copy"};
    std::vector<std::pair<std::string, std::vector<double>>> nodes;
    std::vector<std::vector<std::pair<std::string, std::vector<double>>>> ranks;
    for (int node = 0; node < 4; ++node) {
      const std::string host = "n" + std::to_string(node);
      std::vector<double> mean(3, 0.0);
      auto& of_node = ranks.emplace_back();
      const int count = 1 + static_cast<int>(seed + node) % 4;
      for (int i = 0; i < count; ++i) {
        RankRates rank{std::ssize(run.ranks), host, {}, {}};
        for (std::uint64_t k = 0; k < 3; ++k) {
          rank.rates.push_back(90.0 + 25.0 * drawn(seed, 100 * run.ranks.size() + k));
          rank.beside_own.push_back(
              k == 1 ? 0.9 + 0.2 * drawn(seed, 100 * run.ranks.size() + 10 + k) : rank.rates[k]);
          mean[k] += rank.rates[k] / count;
        }
        of_node.push_back({fmt::format("rank {} on {}", rank.rank, host),
                           {rank.beside_own[0], rank.beside_own[1]}});
        run.ranks.push_back(rank);
      }
      nodes.emplace_back("node " + host, mean);
    }
    auto expected = laggards(nodes, run.of_ranks);
    for (const auto& of_node : ranks) {
      for (const auto& one : laggards(of_node, {"FMA peak", "product, beside our own product"})) {
        expected.push_back(one);
      }
    }
    std::vector<std::pair<std::string, std::string>> found;
    for (const Straggler& one : stragglers(run)) {
      found.emplace_back(one.who, one.what);
      EXPECT_LT(one.rate, share_of_peers * one.median_of_peers);
    }
    EXPECT_EQ(found, expected) << seed;
    seen += std::ssize(found);
  }
  EXPECT_GT(seen, 30);
}

TEST(Baselines, FitByProcessorBuildAndRanksAlone) {
  Baseline baseline = recorded();
  baseline.provenance = provenance();
  Provenance now = provenance();
  now.compiler = now.commit = now.host = now.time = now.libraries = "another";
  EXPECT_EQ(incomparable(baseline, now, 2), "");
  now.build_type = "Debug";
  EXPECT_EQ(incomparable(baseline, now, 3),
            "it was recorded by a Release build, and this is a Debug build");
  now.cpu = "another";
  EXPECT_EQ(incomparable(baseline, now, 3),
            "it was recorded on a \"processor\" & more, and this is another");
  EXPECT_EQ(incomparable(baseline, provenance(), 3),
            "it was recorded on 2 ranks, and these are 3; --ranks 2 makes them equal");
}

// Of some the text is recorded; all say the same in words, JSON and JUnit's XML.
TEST(Reports, SayTheSameInEachForm) {
  std::string text;
  const auto add = [&](const std::string& words, int status, const RegressReport& report) {
    SCOPED_TRACE(words);
    if (words == "recorded" || words == "slower" || words == "two stragglers, three attempts" ||
        words == "a hypervisor more than others") {
      text += fmt::format("==== {}: status {}, undecided {}\n{}", words, report.status(),
                          report.undecided(), regress_text(report));
    }
    EXPECT_EQ(report.status(), status);
    EXPECT_EQ(report.undecided(),
              words.starts_with("others") || words.starts_with("a hyper") ? status == 3 : false);
    const nlohmann::json json = nlohmann::json::parse(regress_json(report));
    const std::string said = regress_text(report), junit = regress_junit(report);
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
    if (words == "others") {
      EXPECT_NE(said.find("could not judge: other processes held 1.2 cores"), std::string::npos);
    }
    std::istringstream cases(junit);
    std::size_t failures = 0;
    for (std::string line; std::getline(cases, line);) {
      failures += line.find("<failure ") != std::string::npos ? 1U : 0U;
    }
    for (const Judgement& one : report.judgements) {
      EXPECT_NE(said.find(one.name), std::string::npos) << one.name;
      EXPECT_NE(junit.find(one.name), std::string::npos) << one.name;
    }
    for (const Straggler& one : report.stragglers) {
      EXPECT_NE(said.find(one.who), std::string::npos) << one.who;
    }
    EXPECT_NE(junit.find(fmt::format("failures=\"{}\"", failures)), std::string::npos) << junit;
    EXPECT_EQ(junit.find("<a>"), std::string::npos) << "unescaped";
    EXPECT_EQ(json["provenance"]["cpu"], report.provenance.cpu);
  };
  RegressReport report;
  report.provenance = provenance();
  report.libraries = "OpenBLAS and oneDNN";
  report.run = run_of(1, 1, 1, 1);
  add("not compared", 0, report);
  report.stragglers = {{"node a", "memory copy", 8.5, 10.25}, {"rank 1 on a", "FMA peak", 80, 120}};
  add("not compared, with stragglers", 1, report);
  report.recorded = true;
  add("recorded", 0, report);
  report.recorded = false;
  report.stragglers.clear();
  report.compared = true;
  report.baseline = "base.json";
  report.baseline_fma = recorded().fma_peak;
  const auto compare = [&](const std::string& words, int status, const MachineRun& run) {
    report.run = run;
    report.judgements = judge(recorded(), run);
    add(words, status, report);
  };
  compare("fine", 0, run_of(1.01, 1, 1, 1));
  compare("faster", 0, run_of(1.2, 2, 2, 1));
  compare("slower", 1, run_of(0.8, 1, 0.4, 1));
  compare("changed", 1, run_of(1, 1, 1, 1 + 0x1p-52));
  MachineRun missing = run_of(1, 1, 1, 1);
  missing.metrics.erase(missing.metrics.begin() + 2);
  compare("missing", 2, missing);
  missing.metrics[0] = run_of(0.7, 1, 1, 1).metrics[0];
  compare("missing and slower", 1, missing);
  report.stragglers = {{"rank 1 on <a>", "product", 9.99, 12.5}};
  compare("a straggler", 1, run_of(1, 1, 1, 1));
  report.stragglers.push_back({"rank 2 on <a>", "product", 1.0, 12.5});
  report.attempts = 3;
  compare("two stragglers, three attempts", 1, run_of(1, 1, 1, 1));
  MachineRun disturbed = run_of(0.8, 1, 1, 1);
  disturbed.foreign_cores = 1.25;
  compare("others", 3, disturbed);
  disturbed.stolen_cores = 1.25;
  compare("others and a hypervisor alike", 3, disturbed);
  disturbed.stolen_cores = 1.5;
  compare("a hypervisor more than others", 3, disturbed);
  disturbed.held_off = true;
  disturbed.stolen_cores = 0.125;
  disturbed.foreign_cores = 0.125;
  compare("others held off between rounds, a quarter in all", 3, disturbed);
  disturbed.stolen_cores = 0.124;
  compare("less than a quarter", 1, disturbed);
  disturbed = run_of(0.8, 1, 1, 2);
  disturbed.foreign_cores = 4;
  compare("others, and a projection changed", 1, disturbed);
  report.stragglers.clear();
  disturbed = run_of(1, 1, 1, 1);
  disturbed.foreign_cores = 4;
  compare("others, and nothing slower", 0, disturbed);
  expect_golden("regress_reports.txt", text);
}

}  // namespace
}  // namespace fourfold::tests
