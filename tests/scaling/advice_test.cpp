// Advice: the choice among numbers of devices against brute force, what the answers to all of them
// become, failures by their formulas, and amounts as typed.
#include "scaling/find/advice.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "scaling/text/advice_text.hpp"
#include "scaling/words/amounts.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/parameter_count.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/small_questions.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

// The lower, the better: those that hold before all others, by what is asked for.
std::tuple<int, double> rank_of(const AdviceOption& option, const Advice& advice) {
  const AdviceWish& wish = advice.wish;
  const double days = option.days(), hours = option.node_hours();
  const bool late = wish.deadline_days && days > *wish.deadline_days;
  const bool dear = wish.node_hours && hours > *wish.node_hours;
  if (late || dear) {
    const double by_days = wish.deadline_days ? days / *wish.deadline_days : 0.0;
    const double by_hours = wish.node_hours ? hours / *wish.node_hours : 0.0;
    return {2, std::max(by_days, by_hours)};
  }
  if (wish.deadline_days) return {0, hours};
  if (wish.node_hours) return {0, days};
  double least = INFINITY;
  for (const AdviceOption& one : advice.options) least = std::min(least, one.node_hours());
  if (hours > worth_of_haste * least) return {1, hours};
  return {0, days};
}

TEST(Choices, AreThoseOfBruteForce) {
  int held = 0, missed = 0;
  for (std::int64_t number = 0; number < 400; ++number) {
    const Draw draw(number, 0);
    Advice advice;
    const std::int64_t count = draw.of<std::int64_t>("count", {1, 2, 4, 6});
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string of = fmt::format("option {} ", i);
      AdviceOption& option = advice.options.emplace_back();
      option.nodes = std::int64_t{1} << i;
      // Within a fifth of perfect scaling, so that many choices are close.
      option.step_days = 128.0 / static_cast<double>(option.nodes) *
                         (1.0 + 0.01 * static_cast<double>(draw.below(of + "loss", 20)));
      if (draw.often(of + "failures", 30)) {
        option.failures = Failures{{}, {}, 1.0 + 0.01 * static_cast<double>(draw.below(of, 30))};
      }
    }
    if (draw.often("deadline", 50)) {
      advice.wish.deadline_days = draw.of<double>("days", {5.0, 30.0, 70.0});
    }
    if (draw.often("budget", 50)) {
      advice.wish.node_hours = 24.0 * draw.of<double>("hours", {100.0, 135.0, 150.0});
    }

    choose(advice);

    std::vector<std::size_t> order(advice.options.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {},
                             [&](std::size_t i) { return rank_of(advice.options[i], advice); });
    EXPECT_EQ(advice.chosen, order[0]) << number;
    EXPECT_EQ(advice.holds, std::get<0>(rank_of(advice.options[order[0]], advice)) < 2) << number;
    ASSERT_EQ(advice.second.has_value(), order.size() > 1) << number;
    if (advice.second) {
      EXPECT_EQ(*advice.second, order[1]) << number;
    }
    ++(advice.holds ? held : missed);
  }
  EXPECT_GT(held, 100);
  EXPECT_GT(missed, 50);
}

// Days and nodes of some options.
Advice chosen_among(const std::vector<std::pair<double, std::int64_t>>& days_and_nodes,
                    const AdviceWish& wish = {}) {
  Advice advice;
  advice.wish = wish;
  for (const auto& [days, nodes] : days_and_nodes) {
    AdviceOption& option = advice.options.emplace_back();
    option.step_days = days;
    option.nodes = nodes;
  }
  choose(advice);
  return advice;
}

TEST(Choices, HoldWhatIsExactlyDueAndHurryForATenthMoreNodeHours) {
  AdviceWish wish;
  wish.deadline_days = 10.0;
  wish.node_hours = 24.0 * 40.0;
  const Advice due = chosen_among({{10.0, 4}}, wish);
  EXPECT_TRUE(due.holds);
  EXPECT_EQ(due.second, std::nullopt);
  EXPECT_EQ(chosen_among({{100.0, 1}, {54.0, 2}, {28.0, 4}}).chosen, 1u);
}

// A machine whose nodes have six devices and fail, with a file system of so many GB/s.
class FailingMachine {
 public:
  explicit FailingMachine(double file_system) {
    std::string text = content_of(path_of_machine("fat-tree-2"));
    text += fmt::format(
        "\n[operation]\nnode_power_W = {{ value = 2000, source = \"made up\" }}\n"
        "node_failures_per_day = {{ value = 0.5, source = \"made up\" }}\n"
        "file_system_write_GBps = {{ value = {}, source = \"made up\" }}\n",
        file_system);
    write_content(path(), text);
  }
  std::string path() const { return folder_.file("failing.toml"); }

 private:
  TemporaryFolder folder_;
};

AdviceWish wish_of(const std::string& platform, const std::vector<std::int64_t>& devices) {
  AdviceWish wish;
  for (std::int64_t count : devices) {
    Question& question = wish.questions.emplace_back(question_on("fat-tree-2", count));
    question.platform = platform;
    question.global_batch = 48;
  }
  wish.tokens = 1e9;
  wish.restart = {120.0};
  return wish;
}

// Nodes are whole, a checkpoint is written by all of them or as the file system allows.
TEST(Advised, NumbersAreThoseOfWholeNodes) {
  for (const auto& [file_system, devices, nodes, slowest] :
       {std::tuple{1e6, 8, 2, false}, std::tuple{1e6, 6, 1, false}, std::tuple{0.5, 8, 2, true},
        std::tuple{0.5, 12, 2, true}}) {
    const FailingMachine machine(file_system);

    const Advice advice = advise(wish_of(machine.path(), {devices}), ignore);

    const AdviceOption& option = advice.options.at(0);
    EXPECT_EQ(option.nodes, nodes);
    EXPECT_EQ(option.node_hours(), 24.0 * option.days() * nodes);
    EXPECT_NEAR(*option.energy_MWh, option.node_hours() * 2000.0 / 1e6, 1e-9 * *option.energy_MWh);
    ASSERT_TRUE(option.failures.has_value());
    const CheckpointCost& cost = option.failures->cost;
    double of_nodes = 0.0;
    for (const Nic& nic : advice.platform.node.nics) of_nodes += nic.bandwidth.value * nodes;
    EXPECT_EQ(advice.checkpoint.value, 12.0 * parameter_count(option.record.point.model));
    EXPECT_NEAR(cost.write.value,
                advice.checkpoint.value / (slowest ? file_system * 1e9 : of_nodes), 1e-9);
    EXPECT_NEAR(cost.restart.value, 120.0 + cost.write.value, 1e-9);
    EXPECT_NEAR(cost.between_failures.value, 86'400.0 / (0.5 * nodes), 1e-6);
    EXPECT_EQ(option.failures->interval, daly_interval(cost));
    EXPECT_EQ(option.failures->stretch, stretch(cost, daly_interval(cost)));
    const CheckpointCost tenfold{cost.between_failures / 10.0, cost.write, cost.restart};
    EXPECT_EQ(option.failures->tenfold, stretch(tenfold, daly_interval(tenfold)));
    const double batch = 48.0 * 512.0;
    EXPECT_NEAR(option.step_days, option.record.seconds().value * 1e9 / batch / 86'400.0,
                1e-9 * option.step_days);
    EXPECT_NEAR(option.days(), option.step_days * option.failures->stretch, 1e-12);
  }
}

TEST(Advised, OfARunThatNeverEndsIsThatNothingHolds) {
  const FailingMachine machine(1e6);
  AdviceWish wish = wish_of(machine.path(), {6});
  wish.questions[0].scales["operation.node_failures_per_day"] = 1e9;
  const Advice advice = advise(wish, ignore);
  EXPECT_FALSE(advice.holds);
  EXPECT_EQ(advice.options[0].failures->interval, advice.options[0].record.seconds());
  EXPECT_THAT(advice_text(advice), HasSubstr("NOTHING HOLDS"));
  EXPECT_THAT(advice_text(advice),
              ::testing::Not(::testing::ContainsRegex(" inf[^a-z]| nan[^a-z]|TAKE")));
  EXPECT_EQ(chosen_among({{1e6 + 1.0, 1}, {9e5, 64}}).chosen, 1U);
}

TEST(Advised, SaysWhichNumberIsAtWhatAndWhyOneIsNot) {
  const std::string machine = path_of_machine("fat-tree-2");  // 180 devices
  std::vector<double> parts;
  std::vector<std::string> said;

  const Advice advice =
      advise(wish_of(machine, {6, 7, 12, 181, 500}), [&](const std::string& activity, double done) {
        said.push_back(activity.substr(0, activity.find(':')));
        parts.push_back(done);
      });

  ASSERT_EQ(advice.options.size(), 2U);
  EXPECT_EQ(advice.options[0].record.devices(), 6);
  EXPECT_EQ(advice.options[1].record.devices(), 12);
  ASSERT_EQ(advice.refused.size(), 2U);
  EXPECT_THAT(advice.refused[0], HasSubstr("7 devices: small fits no grid of 7 devices"));
  EXPECT_EQ(advice.refused[1], "181, 500 devices: too many, fat-tree-2 has 180");
  EXPECT_EQ(advice.reasons(), advice.refused[0] + "; " + advice.refused[1]);
  EXPECT_TRUE(std::ranges::is_sorted(parts));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double least = said[i] == "6 devices" ? 0.0 : said[i] == "7 devices" ? 0.2 : 0.4;
    EXPECT_GE(parts[i], least - 1e-12) << said[i];
    EXPECT_LE(parts[i], least + 0.2 + 1e-12) << said[i];
  }
  EXPECT_THAT(said, ::testing::Contains("12 devices"));
}

// What is taken for granted, otherwise: the number that is advised then is the one that is chosen
// among options whose days changed so, without those that have no room for it.
TEST(Advised, SaysWhatWouldChangeIt) {
  const FailingMachine machine(1e6);
  Advice advice = advise(wish_of(machine.path(), {6, 12, 24, 48}), ignore);
  const std::size_t full = advice.chosen == 0 ? 1 : 0;
  advice.options[full].record.memory_limit = advice.options[full].record.memory * 1.001;
  advice.options[full].step_days = advice.options[advice.chosen].step_days / 1e3;
  std::size_t without = 0;

  const std::vector<OtherAdvice> others = other_advice(advice);

  ASSERT_GT(others.size(), 2U);
  for (const auto& [with, devices] : others) {
    Advice other = advice;
    for (AdviceOption& option : other.options) {
      const std::vector<Granted> all = granted_changes(option.record);
      const auto same = std::ranges::find(all, with.what, &Granted::what);
      option.step_days *= same == all.end() ? INFINITY : 1.0 + same->change;
      without += same == all.end() ? 1 : 0;
    }
    choose(other);
    EXPECT_EQ(devices, other.options[other.chosen].record.devices()) << with.what;
  }
  EXPECT_GT(without, 0U);
}

// Of decoding one token of each sequence is a step: as many shorter sequences take less a token,
// for there is less to look back at. Of training a step is of as many tokens, in twice as many
// sequences of half the length.
TEST(Granted, OfShorterSequencesAreOfAsManySequencesOrTokens) {
  Record record;
  record.point.platform = "dgx-h100";
  record.memory_limit = {80e9};
  const Platform platform = read_platform(record.point.platform);
  for (const bool decodes : {true, false}) {
    record.point.model = decodes ? read_model("llama2-7b") : Model{"small", 4, 1024, 8, 4096, 4096};
    record.point.grid = decodes ? ProcessGrid(4, 1, 1, 2) : ProcessGrid(2, 1, 1, 2);
    record.point.options.phase = decodes ? Phase::decode : Phase::training;
    record.point.options.recompute = decodes ? Recompute::none : Recompute::full;
    for (const std::int64_t batch : {4, 16, 64}) {
      record.point.global_batch = batch;
      Point shorter = record.point;
      shorter.model.sequence /= 2;
      if (!decodes) shorter.global_batch *= 2;
      const double change = estimate_step(shorter, platform).outcome.total /
                                estimate_step(record.point, platform).outcome.total -
                            1.0;

      const std::vector<Granted> all = granted_changes(record);
      const auto found = std::ranges::find(
          all, fmt::format("sequences of {} tokens", shorter.model.sequence), &Granted::what);

      ASSERT_NE(found, all.end());
      EXPECT_NEAR(found->change, change, 1e-12);
      EXPECT_TRUE(!decodes || change < 0.0);

      // Of twice as many sequences those in as many micro-batches are the fastest here.
      Point twice = record.point;
      twice.global_batch *= 2;
      EXPECT_NEAR(std::ranges::find(all, "twice the batch", &Granted::what)->change,
                  estimate_step(twice, platform).outcome.total /
                          estimate_step(record.point, platform).outcome.total / 2.0 -
                      1.0,
                  1e-12);
    }
  }
}

// As much faster matters as much as so much slower, with a tie and without one.
TEST(Granted, MattersAlikeUpwardsAndDownwards) {
  Record record;
  for (const bool known : {false, true}) {
    if (known) record.bar.emplace().tie = 0.2;
    for (const double change : {0.001, 0.04, 0.06, 0.15, 0.25, 3.0}) {
      const bool slower = matters({"", change}, record);
      EXPECT_EQ(slower, change >= (known ? 0.2 : 0.05)) << change;
      EXPECT_EQ(matters({"", 1.0 / (1.0 + change) - 1.0}, record), slower) << change;
    }
  }
}

// Without an answer it is a no where nothing fits any number that the machine has, and else a
// failure.
TEST(Advised, TellsANoFromAFailure) {
  const std::string machine = path_of_machine("fat-tree-2");
  const auto said = [](const AdviceWish& wish) {
    return refusal<FindingFailed>([&] { advise(wish, ignore); });
  };
  EXPECT_EQ(said(wish_of(machine, {7, 11})), "accepted");
  EXPECT_EQ(said(wish_of(machine, {7, 500})), "accepted");
  EXPECT_EQ(said(wish_of(machine, {500, 181})), "500, 181 devices: too many, fat-tree-2 has 180");
  AdviceWish mixed = wish_of(machine, {7, 6});
  mixed.questions[1].grid = ProcessGrid(5, 1, 1, 1);
  EXPECT_THAT(said(mixed), HasSubstr("; 6 devices: grid 5x1x1x1 has 5 devices, not 6"));
}

TEST(Failures, TakeWhatTheFormulasSay) {
  // By hand: sqrt(2 * 8 * 3600) = 240; delta / 2M = 1/900, its root 1/30: 240 (1 + 1/90 + 1/8100)
  // - 8.
  const CheckpointCost cost{{3'600.0}, {8.0}, {60.0}};
  EXPECT_DOUBLE_EQ(young_interval(cost).value, 240.0);
  EXPECT_NEAR(daly_interval(cost).value, 240.0 * (1.0 + 1.0 / 90.0 + 1.0 / 8'100.0) - 8.0, 1e-9);
  EXPECT_EQ(daly_interval({{100.0}, {200.0}, {}}).value, 100.0);
  EXPECT_NEAR(daly_interval({{100.0}, {199.99}, {}}).value,
              std::sqrt(2.0 * 199.99 * 100.0) * (1.0 + 1.0 / 3.0 + 1.0 / 9.0) - 199.99, 0.01);
  // M / tau e^(R / M) (e^((tau + delta) / M) - 1).
  EXPECT_NEAR(stretch(cost, {352.0}), 3'600.0 / 352.0 * std::exp(1.0 / 60.0) * std::expm1(0.1),
              1e-12);
  // Daly's interval is near the best, and there may be no end.
  const CheckpointCost slow{{20'000.0}, {300.0}, {600.0}};
  const double best = stretch(slow, daly_interval(slow));
  for (double other : {0.5, 0.8, 1.25, 2.0}) {
    EXPECT_GT(stretch(slow, daly_interval(slow) * other), best) << other;
  }
  EXPECT_LT(best, stretch(slow, young_interval(slow)));
  EXPECT_TRUE(std::isinf(stretch({{1.0}, {10.0}, {}}, {10'000.0})));
}

TEST(Advised, SaysWhatThePlatformDoesNotKnow) {
  const Advice advice = advise(wish_of(path_of_machine("fat-tree-2"), {6}), ignore);
  const std::string text = advice_text(advice);

  EXPECT_THAT(text, HasSubstr("lacks node_failures_per_day"));
  EXPECT_THAT(text, HasSubstr("does not say what a node draws"));
  EXPECT_EQ(advice.options.front().days(), advice.options.front().step_days);
}

TEST(Amounts, RefuseWhatIsNone) {
  for (const char* word : {"", "T", "-1T", "1X", "inf", "nan", "1e999", "0"}) {
    EXPECT_THAT(refusal<std::runtime_error>([&] { amount_in("--tokens", word); }),
                HasSubstr("is no number such as 300B"));
  }
  for (const char* word : {"30", "d", "-3d", "5y"}) {
    EXPECT_THAT(refusal<std::runtime_error>([&] { days_in("--deadline", word); }),
                HasSubstr("is no time such as 30d"));
  }
  for (const auto& [word, wrong] :
       {std::pair{"", "''"}, std::pair{"a", "'a'"}, std::pair{"1..", "''"},
        std::pair{"0..4", "'0'"}, std::pair{"1,x", "'x'"}, std::pair{"1.5", "'1.5'"},
        std::pair{"1,2..4..8", "'4..8'"}}) {
    EXPECT_EQ(
        refusal<std::runtime_error>([&] { counts_in("--devices", word); }),
        fmt::format("--devices '{}': {} is no whole number from 1 on; numbers and ranges with "
                    "commas between them are right, such as 512,1024..8192",
                    word, wrong));
  }
  EXPECT_THAT(refusal<std::runtime_error>([&] { counts_in("--devices", "1,8..4"); }),
              HasSubstr("'8..4' ends before it begins"));
  EXPECT_EQ(counts_in("--devices", "3000,1024..4096,512,2048..3000"),
            (std::vector<std::int64_t>{512, 1024, 2048, 3000, 4096}));
}

}  // namespace
}  // namespace fourfold::tests
