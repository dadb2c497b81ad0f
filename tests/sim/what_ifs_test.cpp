// What-ifs as words, at the edges of what they may be: a golden text of what each is read as,
// written as and told as a sentence, or refused with; lists of numbers there and back; what jobs
// refuse; and draws of jitter.
#include "sim/conditions/what_ifs.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/conditions/conditions.hpp"
#include "sim/conditions/what_ifs_json.hpp"
#include "tests/golden.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

// As JSON again with its sentences, or the refusal.
std::string told(const nlohmann::json& words, std::int64_t ranks) {
  std::string text = words.dump();
  const std::string said = refusal<std::exception>([&] {
    const WhatIfs what_ifs = read_what_ifs(JsonObject(words, "what-ifs"));
    text += fmt::format("\n  {}{}", json_of(what_ifs).dump(), what_ifs.uniform() ? " uniform" : "");
    for (const std::string& sentence : sentences(what_ifs, ranks)) text += "\n  " + sentence;
  });
  return said == "accepted" ? text + '\n' : text + " refused: " + said + '\n';
}

std::vector<std::string> separate(const std::string& words) {
  std::vector<std::string> each;
  std::istringstream all(words);
  for (std::string word; std::getline(all, word, '|');) each.push_back(word);
  return each;
}

TEST(WhatIfWords, AreTheGoldenText) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> of_key{
      {"placement",
       separate(
           "packed|spread|random||nodes|nodes=|nodes=0|nodes=0-7|nodes=0-8|nodes=0-9|nodes=3,2,1"
           "|nodes=1-1|nodes=1,,2|nodes=1,|nodes=-1|nodes=1-|nodes=1-2-3|nodes=7-6"
           "|nodes=0-10000000|nodes= 1|devices=5,6,8|devices=0-3,9,20-30|device=1|Packed|=1"
           "|random=3")},
      {"jitter",
       {"2%", "100%", "100.1%", "0%", "-1%", "0.001%", "2", "%", "2%%", "nan%", "inf%", "2 %",
        "1e1%"}},
      {"slow_devices",
       {"1:0.5",          "2:0.25", "16:0.5",    "17:0.5",   "9:0.1", "0:0.5", "-1:0.5",
        "1.5:0.5",        "1:1",    "1:0",       "1:",       ":0.5",  "1",     "1000000000:0.5",
        "1000000001:0.5", "17=0.5", "17,18=0.5", "0-8=0.75", "=0.5",  "17=1",  "17=",
        "17=0.5=0.5",     "a:0.5",  "1:half"}},
      {"collective",
       {"auto", "ring", "tree", "recursive", "hierarchical", "all-reduce:tree", "all-gather:ring",
        "tree:all-reduce", "", "send:ring", "rings"}}};
  std::string text;
  for (const auto& [key, all] : of_key) {
    for (const std::string& words : all) text += told({{key, words}}, 16);
  }
  for (const char* words : {"nic:1.1=0.5", "nic:1.1", "=0.5", "nic:1.1=", "nic:1.1=0", "a=b=0.5",
                            "nic:1.1=1", "nic:1.1=-0.5", "group 1 -> group 2=0.9"}) {
    text += told({{"degrade", {words}}}, 16);
  }
  for (const char* words :
       {"nic:1.1", "global:0-1=1", "global:0-1=2", "global:0-1=1000000", "global:0-1=1000001",
        "global:0-1=0", "global:0-1=1.5", "=2", "global:0-1=", "a=b=3"}) {
    text += told({{"fail", {words}}}, 16);
  }
  for (const nlohmann::json& seed :
       std::vector<nlohmann::json>{0, -1, 1, 9223372036854775807, 1.5, "1"}) {
    text += told({{"seed", seed}, {"jitter", "3%"}}, 16);
    text += told({{"seed", seed}, {"placement", "random"}}, 16);
    text += told({{"seed", seed}, {"placement", "spread"}}, 16);
  }

  expect_golden("what_if_words.txt", text);
}

TEST(WhatIfWords, OfNumbersComeBackHoweverTheyLie) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> numbers;
    const auto count = 1 + random() % 12;
    std::int64_t next = static_cast<std::int64_t>(random() % 20);
    while (numbers.size() < count) {
      numbers.push_back(next);
      next = random() % 3 > 0 ? next + 1 : static_cast<std::int64_t>(random() % 20);
    }

    const std::string words = words_of(numbers);

    EXPECT_EQ(numbers_in(words), numbers) << words;
  }
  EXPECT_EQ(words_of({0, 1, 2, 7, 9, 10, 5, 4, 4}), "0-2,7,9-10,5,4,4");
  EXPECT_EQ(words_of({}), "");
  EXPECT_EQ(numbers_in("0-9999999").size(), 10000000U);
}

// Rank (2 i + 1) / 2 count of the way: none twice, ascending, each in its own equal part.
TEST(WhatIfWords, CountedSlowDevicesLieInPartsOfTheirOwn) {
  for (std::int64_t ranks = 1; ranks <= 24; ++ranks) {
    for (std::int64_t count = 1; count <= ranks; ++count) {
      const std::vector<std::int64_t> chosen = evenly_spread_ranks(count, ranks);

      ASSERT_EQ(chosen.size(), static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) {
        const double middle = (static_cast<double>(i) + 0.5) * static_cast<double>(ranks) /
                              static_cast<double>(count);
        EXPECT_EQ(chosen[static_cast<std::size_t>(i)], static_cast<std::int64_t>(middle + 1e-9));
      }
    }
    EXPECT_EQ(refusal<std::runtime_error>([&] { evenly_spread_ranks(ranks + 1, ranks); }),
              fmt::format("{} slow devices are more than the {} of the job", ranks + 1, ranks));
  }
}

// Of what each group asks of all ranks it has so many, none of which another has.
TEST(WhatIfWords, GroupsOfSlowDevicesShareNone) {
  for (const std::int64_t ranks : {8, 30, 64, 100}) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    for (const std::int64_t count : {1, 2, 3, 7}) {
      if (count + ranks / 2 + 1 > ranks) continue;
      const SlowDevices half{0, {}, 0.5, 50.0, {}}, one{1, {}, 0.1, 0.0, {}};
      const SlowDevices slow{count, {}, 0.9, 0.0, {half, one}};
      std::set<std::int64_t> seen;
      std::vector<std::size_t> sizes;
      for (const SlowRanks& group : counted_slow_ranks(slow, all)) {
        sizes.push_back(group.ranks.size());
        seen.insert(group.ranks.begin(), group.ranks.end());
      }
      const auto of_all = static_cast<std::size_t>(ranks) / 2;
      EXPECT_EQ(sizes, (std::vector<std::size_t>{static_cast<std::size_t>(count), of_all, 1}));
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(count) + of_all + 1) << ranks;
    }
  }
}

WhatIfs read(const std::string& text) {
  const nlohmann::json value = nlohmann::json::parse(text);
  return read_what_ifs(JsonObject(value, "what-ifs"));
}

std::string said(const std::string& text) {
  return refusal<std::runtime_error>([&] { read(text); });
}

std::string job_refusal(std::int64_t devices, const std::string& what_ifs) {
  Point point;
  point.grid = ProcessGrid(1, 1, devices, 1);
  point.what_ifs = read(what_ifs);
  return refusal<std::exception>(
      [&] { compute_factors(point, mapping_of(point, read_platform("frontier"))); });
}

TEST(WhatIfs, RefuseWhatIsNoSuchWord) {
  EXPECT_THAT(said(R"({"jiter": "2%"})"), HasSubstr("did you mean \"jitter\"?"));
  EXPECT_THAT(said(R"({"placement": "spraed"})"), HasSubstr("did you mean \"spread\"?"));
  EXPECT_THAT(said(R"({"degrade": "nic:1.1=0.5"})"), HasSubstr("must be a list"));
  EXPECT_THAT(said(R"({"seed": 3, "slow_devices": "1:0.5"})"), HasSubstr("only with"));
}

TEST(WhatIfs, HaveAtMostAllDevicesSlow) {
  for (const char* percent : {"0.5", "50", "100", "100.5", "200"}) {
    const std::string words = std::string(percent) + "%:0.5";
    EXPECT_EQ(said(nlohmann::json{{"slow_devices", words}}.dump()) == "accepted",
              std::stod(percent) <= 100.0)
        << words;
  }
}

TEST(Conditions, RefuseWhatIsNotInTheJob) {
  EXPECT_THAT(job_refusal(8, R"({"slow_devices": "9:0.5"})"), HasSubstr("more than the 8"));
  EXPECT_THAT(job_refusal(8, R"({"slow_devices": "8=0.5"})"), HasSubstr("does not use it"));
  EXPECT_THAT(job_refusal(16, R"({"placement": "nodes=0"})"), HasSubstr("names 1 nodes"));
  EXPECT_THAT(job_refusal(8, R"({"placement": "nodes=0,1"})"), HasSubstr("runs on 1"));
  EXPECT_THAT(job_refusal(16, R"({"placement": "nodes=4,4"})"), HasSubstr("twice"));
  EXPECT_THAT(job_refusal(8, R"({"placement": "nodes=99999"})"), HasSubstr("nodes 0 to 9855"));
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

TEST(Jitter, RefusesWhatIsNoDeviation) {
  const auto said = [](double deviation) {
    return refusal<std::invalid_argument>([&] { const Jitter jitter(deviation, 1); });
  };
  EXPECT_EQ(said(1e-6), "accepted");
  EXPECT_EQ(said(1.0), "accepted");
  EXPECT_EQ(said(0.0), "a jitter of 0 % is impossible; it must be above 0 % and at most 100 %");
  EXPECT_EQ(said(1.01), "a jitter of 101 % is impossible; it must be above 0 % and at most 100 %");
  EXPECT_EQ(said(-0.5), "a jitter of -50 % is impossible; it must be above 0 % and at most 100 %");
  EXPECT_EQ(said(std::nan("")),
            "a jitter of nan % is impossible; it must be above 0 % and at most 100 %");
}

// The logarithms of the factors lie as the normal distribution does: a wide draw meets each of
// 4,096 quantiles, of which the middle two are as far from each other as neighbours are there, and
// the ends are those of the middles of the first and the last part.
TEST(Jitter, HasTheQuantilesOfTheLognormalDistribution) {
  for (double deviation : {0.02, 0.5, 1.0}) {
    const Jitter jitter(deviation, 7);
    std::set<double> factors;
    double drawn = 0.0;
    for (std::int64_t rank = 0; rank < 64; ++rank) {
      for (std::int64_t step = 0; step < 1024; ++step) {
        drawn += jitter.factor(rank, step) / (64 * 1024);
        factors.insert(jitter.factor(rank, step));
      }
    }
    ASSERT_EQ(factors.size(), 4096U);
    EXPECT_NEAR(drawn, 1.0, 5 * deviation / 256);  // standard errors
    const double width = std::sqrt(std::log1p(deviation * deviation));
    std::size_t i = 0;
    const double middle = 0.5 * (std::log(*std::next(factors.begin(), 2047)) +
                                 std::log(*std::next(factors.begin(), 2048)));
    for (double factor : factors) {
      const double z = (std::log(factor) - middle) / width;
      EXPECT_NEAR(0.5 * std::erfc(-z / std::sqrt(2.0)), (static_cast<double>(i) + 0.5) / 4096,
                  1e-9);
      ++i;
    }
    double mean = 0.0;
    for (double factor : factors) mean += factor / 4096;
    EXPECT_NEAR(mean, 1.0, 1e-12);
  }
}

}  // namespace
}  // namespace fourfold::tests
