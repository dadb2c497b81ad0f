// bench/regress: which of two runs counts, who lags behind, and what is said of it, in a table,
// JSON and JUnit's XML.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/regress/report.hpp"
#include "bench/regress/suite.hpp"
#include "support/random.hpp"
#include "tests/golden.hpp"

namespace fourfold::tests {
namespace {

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
  report.stragglers = {{"node a", "memory copy", 8.5, 10.25},
                       {"rank 1 on a", "product of 1,024 x 1,024 x 1,024, beside our own", 8, 12}};
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
  disturbed.stolen_cores = disturbed.foreign_cores = 0.125;
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
