// What half and double of unconfirmed numbers would give, what twice as fast would, and how fast a
// part must be.
#include "scaling/bars/sensitivity.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "platforms/operation.hpp"
#include "scaling/bars/varied.hpp"
#include "scaling/find/needed_factor.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/machines.hpp"
#include "tests/points.hpp"
#include "tests/scaling/small_questions.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

// Of a machine on which nothing is confirmed, fact by fact: on nodes, network and processor alike.
// Of what is scaled it is half and double of the scaled number.
TEST(Sensitivity, OfEveryFactIsThatOfTheMachineWithTheOtherNumber) {
  std::string text = content_of(path_of_machine("torus"));
  for (const auto& [sourced, open] :
       {std::pair<std::string, std::string>{"source = \"made up\" }",
                                            "source = \"made up\", unconfirmed = true }"},
        {"\nsource = \"made up\"\n", "\nsource = \"made up\"\nunconfirmed = true\n"}}) {
    for (std::size_t at = 0; (at = text.find(sourced, at)) != std::string::npos; ++at) {
      text.replace(at, sourced.size(), open);
    }
  }
  text += "\n[operation]\nnode_power_W = { value = 1, source = \"a\", unconfirmed = true }\n";
  const TemporaryFolder folder;
  Point point =
      made_up_point(folder.file("open.toml"), {"small", 4, 1024, 8, 512, 4096}, {2, 1, 2, 6}, 24);
  write_content(point.platform, text);
  point.options.overlap = {false, false, false, false, false, false};
  point.scales["processor.memory_bandwidth_GBps"] = 0.5;
  const Platform platform = read_platform(point.platform, point.scales);
  const double base = estimate_step(point, platform).outcome.total.value;
  const auto seconds_with = [&](const std::string& key, double factor) -> std::optional<Seconds> {
    Scales scales = point.scales;
    scales.try_emplace(key, 1.0).first->second *= factor;
    try {
      return estimate_step(point, read_platform(point.platform, scales)).outcome.total;
    } catch (const std::runtime_error&) {
      return std::nullopt;
    }
  };

  const Sensitivity result = sensitivity(point);

  const auto largest = [&](const std::optional<Seconds>& half,
                           const std::optional<Seconds>& twice) {
    double size = 0.0;
    for (const auto& one : {half, twice}) {
      if (one) size = std::max(size, std::abs(one->value / base - 1.0));
    }
    return size;
  };
  std::size_t open = 0, shown = 0, of_nodes = 0, of_network = 0;
  for (const Fact& fact : platform.facts) {
    if (!fact.unconfirmed || is_of_operation(fact)) continue;
    ++open;
    const auto half = seconds_with(fact.key, 0.5), twice = seconds_with(fact.key, 2.0);
    const auto effect = std::ranges::find(result.effects, fact.key, &Effect::key);
    const bool there = effect != result.effects.end();
    ASSERT_EQ(there, largest(half, twice) >= Sensitivity::threshold) << fact.key;
    if (!there) continue;
    ++shown;
    of_nodes += fact.key.starts_with("node.") ? 1 : 0;
    of_network += fact.key.starts_with("network.") ? 1 : 0;
    EXPECT_EQ(effect->value, fact.value);
    EXPECT_EQ(effect->half, half) << fact.key;
    EXPECT_EQ(effect->twice, twice) << fact.key;
  }
  EXPECT_TRUE(std::ranges::is_sorted(result.effects, std::greater<>{}, [&](const Effect& effect) {
    return largest(effect.half, effect.twice);
  }));
  EXPECT_EQ(result.unconfirmed, static_cast<std::int64_t>(open));
  EXPECT_EQ(result.effects.size(), shown);
  EXPECT_GT(of_nodes, 0u);
  EXPECT_GT(of_network, 0u);
}

TEST(SensitivityTable, HasALineForEachEffect) {
  Sensitivity result;
  result.point.platform = "/home/me/mine.toml";
  result.point.model.name = "small";
  result.point.grid = {2, 1, 4, 1};
  result.estimated = {2.0};
  result.unconfirmed = 5;
  result.effects = {{"node.a", 0.25, Seconds{3.0}, Seconds{1.75}},
                    {"network.b", 1e6, std::nullopt, Seconds{2.02}}};

  EXPECT_EQ(sensitivity_table(result),
            "mine, small on 8 devices, grid 2x1x4x1, 2.00 s estimated:\n"
            "unconfirmed number  value      half gives    double gives\n"
            "                                        s               s\n"
            "---------------------------------------------------------\n"
            "node.a               0.25  3.00 (+50.0 %)  1.75 (-12.5 %)\n"
            "network.b           1e+06      impossible   2.02 (+1.0 %)\n"
            "3 of 5 unconfirmed numbers change less than 0.5 % and are not shown.\n");
}

// What is twice as fast has half of a latency and twice of a rate.
TEST(Limits, AreOfWhatIsTwiceAsFast) {
  const Point point =
      made_up_point("perlmutter", {"small", 4, 256, 8, 64, 512}, ProcessGrid(4, 1, 2, 1), 8);
  const Platform platform = read_platform(point.platform);
  const Varied varied(point, platform);
  bool latency = false;
  for (const Limit& one : limits(point, platform)) {
    const bool of_time = one.key.ends_with("_us");
    latency = latency || of_time;
    EXPECT_EQ(one.twice, varied.estimated_with(one.key, of_time ? 0.5 : 2.0)) << one.key;
    EXPECT_LT(one.twice, varied.estimated());
  }
  EXPECT_TRUE(latency);
}

// A factor that is solved for comes on top of one that is there.
TEST(Needed, OfAPartThatIsScaledMakesGoodForIt) {
  Question question = question_on("dragonfly", 32);
  question.grid = ProcessGrid(2, 1, 4, 4);
  question.micro_batches = 1;
  for (const Fidelity fidelity : {Fidelity::estimated, Fidelity::simulated}) {
    const Seconds sound = find_answer(question, fidelity, {}, ignore).outcome().total;
    for (const double scale : {0.5, 0.25}) {
      Question slow = question;
      slow.scales["nics"] = scale;

      const Needed needed = needed_factor(slow, "nics", sound, fidelity, {}, ignore);

      EXPECT_GT(needed.without, sound);
      EXPECT_NEAR(needed.factor * scale, 1.0, 0.05) << name(fidelity) << " at " << scale;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
