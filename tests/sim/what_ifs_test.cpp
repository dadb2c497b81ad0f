// What-ifs as words: what they mean, that they come back unchanged, and what is refused.
#include "sim/conditions/what_ifs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <vector>

#include "sim/conditions/conditions.hpp"
#include "sim/conditions/idle_scales.hpp"
#include "sim/question/point_json.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

WhatIfs read(const std::string& text) {
  const nlohmann::json value = nlohmann::json::parse(text);
  return read_what_ifs(JsonObject(value, "what-ifs"));
}

std::string refusal(const std::string& text) {
  return tests::refusal<std::runtime_error>([&] { read(text); });
}

Point job_of(std::int64_t devices, const std::string& what_ifs) {
  Point point;
  point.platform = "frontier";
  point.grid = ProcessGrid(1, 1, devices, 1);
  point.what_ifs = read(what_ifs);
  return point;
}

std::string job_refusal(std::int64_t devices, const std::string& what_ifs) {
  const Point point = job_of(devices, what_ifs);
  return tests::refusal<std::exception>(
      [&] { compute_factors(point, mapping_of(point, read_platform("frontier"))); });
}

constexpr const char* everything = R"({"placement": "nodes=3,5-7,0", "jitter": "7%",
    "slow_devices": "17,40=0.25", "degrade": ["nic:17.2=0.5", "global:0-1=0.125"],
    "fail": ["global:3-9=2", "nic:1.1"], "collective": "all-reduce:tree", "seed": 9})";

TEST(WhatIfs, AreReadFromWords) {
  const WhatIfs what_ifs = read(everything);

  EXPECT_EQ(what_ifs.placement.by, Placing::nodes);
  EXPECT_THAT(what_ifs.placement.list, ElementsAre(3, 5, 6, 7, 0));
  EXPECT_EQ(what_ifs.jitter_percent, 7.0);
  EXPECT_THAT(what_ifs.slow_devices.devices, ElementsAre(17, 40));
  EXPECT_EQ(what_ifs.slow_devices.speed, 0.25);
  ASSERT_EQ(what_ifs.degrade.size(), 2u);
  EXPECT_EQ(what_ifs.degrade[0], (Degradation{"nic:17.2", 0.5}));
  ASSERT_EQ(what_ifs.fail.size(), 2u);
  EXPECT_EQ(what_ifs.fail[0], (Failure{"global:3-9", 2}));
  EXPECT_EQ(what_ifs.fail[1], (Failure{"nic:1.1", 1}));
  EXPECT_EQ(what_ifs.collective.algorithm, CollectiveAlgorithm::tree);
  EXPECT_EQ(what_ifs.seed, 9u);
  EXPECT_EQ(read(R"({"slow_devices": "3:0.5"})").slow_devices.count, 3);
}

TEST(WhatIfs, ComeBackFromJsonUnchanged) {
  for (const std::string& text :
       {std::string(everything), std::string(R"({"slow_devices": "3:0.1"})"), std::string("{}"),
        std::string(R"({"placement": "random", "seed": 4})"),
        std::string(R"({"placement": "spread", "jitter": "0.3%"})")}) {
    const WhatIfs what_ifs = read(text);

    EXPECT_EQ(read(json_of(what_ifs).dump()), what_ifs) << text;
  }
}

TEST(WhatIfs, TravelWithThePoint) {
  Point point;
  point.platform = "frontier";
  point.model = {"gpt-7b", 30, 4608, 36, 4096, 32'000};
  point.what_ifs = read(everything);

  EXPECT_EQ(point_from_json(to_json(point)).what_ifs, point.what_ifs);
}

TEST(WhatIfs, AreUniformWhereAllRanksAndLinksAreAlike) {
  EXPECT_TRUE(read("{}").uniform());
  EXPECT_TRUE(read(R"({"collective": "tree"})").uniform());
  for (const char* text :
       {R"({"placement": "spread"})", R"({"jitter": "1%"})", R"({"slow_devices": "1:0.5"})",
        R"({"degrade": ["nic:0.0=0.5"]})", R"({"fail": ["nic:0.0"]})"}) {
    EXPECT_FALSE(read(text).uniform()) << text;
  }
}

TEST(WhatIfs, RefuseWhatIsNoSuchWord) {
  EXPECT_THAT(refusal(R"({"jiter": "2%"})"), HasSubstr("did you mean \"jitter\"?"));
  EXPECT_THAT(refusal(R"({"placement": "spraed"})"), HasSubstr("did you mean \"spread\"?"));
  EXPECT_THAT(refusal(R"({"degrade": "nic:1.1=0.5"})"), HasSubstr("must be a list"));
}

TEST(WhatIfs, RefuseASeedThatDecidesNothing) {
  EXPECT_THAT(refusal(R"({"seed": 3})"), HasSubstr("takes effect only with"));
  EXPECT_THAT(refusal(R"({"seed": 3, "slow_devices": "1:0.5"})"), HasSubstr("only with"));
  EXPECT_EQ(refusal(R"({"seed": 3, "jitter": "1%"})"), "accepted");
}

TEST(WhatIfs, HaveAtMostAllDevicesSlow) {
  for (const char* percent : {"0.5", "50", "100", "100.5", "200"}) {
    const std::string words = std::string(percent) + "%:0.5";
    EXPECT_EQ(refusal(nlohmann::json{{"slow_devices", words}}.dump()) == "accepted",
              std::stod(percent) <= 100.0)
        << words;
  }
}

TEST(WhatIfs, SentencesSayWhichDevicesAreSlow) {
  EXPECT_THAT(sentences(read(R"({"slow_devices": "1:0.5"})"), 8192),
              ElementsAre("1 device computes at 0.5 of the speed: rank 4096"));
  EXPECT_THAT(sentences(read("{}"), 8192), IsEmpty());
  EXPECT_EQ(sentences(read(everything), 8192).size(), 8u);
}

TEST(Conditions, SlowRanksComputeLonger) {
  const Platform frontier = read_platform("frontier");
  const Point by_count = job_of(4, R"({"slow_devices": "1:0.5"})");
  const Point by_device = job_of(16, R"({"placement": "nodes=5,2", "slow_devices": "17=0.25"})");

  const std::vector<double> counted = compute_factors(by_count, mapping_of(by_count, frontier));
  const std::vector<double> listed = compute_factors(by_device, mapping_of(by_device, frontier));

  EXPECT_THAT(counted, ElementsAre(1, 1, 2, 1));
  ASSERT_EQ(listed.size(), 16u);
  EXPECT_EQ(listed[9], 4.0);  // device 17 is the second of node 2, which is the job's second node
  EXPECT_EQ(std::count(listed.begin(), listed.end(), 1.0), 15);
}

TEST(Conditions, RefuseWhatIsNotInTheJob) {
  EXPECT_THAT(job_refusal(8, R"({"slow_devices": "9:0.5"})"), HasSubstr("more than the 8"));
  EXPECT_THAT(job_refusal(8, R"({"slow_devices": "8=0.5"})"), HasSubstr("does not use it"));
  EXPECT_THAT(job_refusal(16, R"({"placement": "nodes=0"})"), HasSubstr("names 1 nodes"));
  EXPECT_THAT(job_refusal(8, R"({"placement": "nodes=0,1"})"), HasSubstr("runs on 1"));
  EXPECT_THAT(job_refusal(16, R"({"placement": "nodes=4,4"})"), HasSubstr("twice"));
  EXPECT_THAT(job_refusal(8, R"({"placement": "nodes=99999"})"), HasSubstr("nodes 0 to 9855"));
}

TEST(Jitter, HasMeanOneAndTheDeviationAskedFor) {
  const Jitter jitter(0.02, 1);
  double sum = 0.0;
  double squares = 0.0;
  constexpr int draws = 400'000;

  for (int i = 0; i < draws; ++i) {
    const double off = jitter.factor(i % 500, i / 500) - 1.0;
    sum += off;
    squares += off * off;
  }

  // Standard errors: 0.02 / sqrt(400,000) of the mean, 0.02 / sqrt(800,000) of the deviation.
  EXPECT_NEAR(sum / draws, 0.0, 5 * 3.2e-5);
  EXPECT_NEAR(std::sqrt(squares / draws), 0.02, 5 * 2.3e-5);
}

// Where the lognormal distribution is no longer nearly a normal one. The quantiles end where its
// tail still has some of the deviation.
TEST(Jitter, HasTheDeviationAskedForWhereItIsLarge) {
  const Jitter jitter(0.5, 1);
  double squares = 0.0;
  constexpr int draws = 400'000;

  for (int i = 0; i < draws; ++i) {
    const double off = jitter.factor(i % 500, i / 500) - 1.0;
    squares += off * off;
  }

  EXPECT_NEAR(std::sqrt(squares / draws), 0.5, 0.01);
}

TEST(Jitter, DependsOnSeedRankAndStepAlone) {
  const Jitter one(0.1, 1);
  const Jitter again(0.1, 1);
  const Jitter other(0.1, 2);
  int changed_by_seed = 0;
  int changed_by_rank = 0;

  for (std::int64_t step = 0; step < 100; ++step) {
    EXPECT_EQ(one.factor(7, step), again.factor(7, step));
    changed_by_seed += one.factor(7, step) != other.factor(7, step);
    changed_by_rank += one.factor(7, step) != one.factor(8, step);
  }

  EXPECT_GT(changed_by_seed, 95);
  EXPECT_GT(changed_by_rank, 95);
  EXPECT_EQ(Jitter().factor(3, 4), 1.0);
  EXPECT_THROW(Jitter(0.0, 1), std::invalid_argument);
  EXPECT_THROW(Jitter(1.5, 1), std::invalid_argument);
  EXPECT_NO_THROW(Jitter(1.0, 1));
}

// Logarithms of its quantiles lie as far above the middle as below: those of the two ends alike.
TEST(Jitter, IsAsFarAboveItsMedianAsBelow) {
  const Jitter jitter(0.3, 1);
  std::set<double> quantiles;
  for (std::int64_t draw = 0; draw < 100'000; ++draw) quantiles.insert(jitter.factor(draw, 0));
  const std::vector<double> all(quantiles.begin(), quantiles.end());

  ASSERT_EQ(all.size(), 4096u);
  const double twice_median = std::log(all[2047]) + std::log(all[2048]);
  for (std::size_t i = 0; i < 2048; ++i) {
    EXPECT_NEAR(std::log(all[i]) + std::log(all[4095 - i]), twice_median, 1e-12) << i;
  }
}

// Whatever jitter it is, another seed draws other seconds, and the same one the same.
TEST(Jitter, OfEveryKindIsThatOfItsSeed) {
  StepVariation varies;
  varies.deviation = {0.1};
  varies.repetition = {0.05};
  for (const char* kind : {"machine", "3%"}) {
    const auto seconds = [&](int seed) {
      return jitter_of(read(nlohmann::json{{"jitter", kind}, {"seed", seed}}.dump()))
          .seconds(5, 7, 1.0, varies);
    };
    EXPECT_EQ(seconds(4), seconds(4)) << kind;
    EXPECT_NE(seconds(4), seconds(5)) << kind;
  }
}

}  // namespace
}  // namespace fourfold::tests
