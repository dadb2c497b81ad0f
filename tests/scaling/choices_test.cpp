// Choices among numbers of devices against brute force, and what the answers to all of them become.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "scaling/find/advice.hpp"
#include "scaling/find/find_answer.hpp"
#include "scaling/find/reruns.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/parameter_count.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST(Choices, OfWhatIsExactlyDueHold) {
  Advice advice;
  AdviceOption& option = advice.options.emplace_back();
  option.step_days = 10.0;
  option.nodes = 4;
  advice.wish.deadline_days = 10.0;
  advice.wish.node_hours = 24.0 * 40.0;

  choose(advice);

  EXPECT_TRUE(advice.holds);
  EXPECT_EQ(advice.second, std::nullopt);
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
    Question& question = wish.questions.emplace_back();
    question.platform = platform;
    question.model = {"small", 4, 1024, 8, 512, 4096};
    question.devices = count;
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

    const Advice advice =
        advise(wish_of(machine.path(), {devices}), [](const std::string&, double) {});

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
// among options whose days changed so.
TEST(Advised, SaysWhatWouldChangeIt) {
  const FailingMachine machine(1e6);
  Advice advice =
      advise(wish_of(machine.path(), {6, 12, 24, 48}), [](const std::string&, double) {});

  const std::vector<OtherAdvice> others = other_advice(advice);

  ASSERT_GT(others.size(), 2U);
  for (const auto& [with, devices] : others) {
    Advice other = advice;
    for (AdviceOption& option : other.options) {
      for (const Granted& one : granted_changes(option.record)) {
        if (one.what == with.what) option.step_days *= 1.0 + one.change;
      }
    }
    choose(other);
    EXPECT_EQ(devices, other.options[other.chosen].record.devices()) << with.what;
  }
}

// Of decoding one token of each sequence is a step: as many shorter sequences take less a token,
// for there is less to look back at.
TEST(Granted, OfDecodingAreOfAsManySequences) {
  Record record;
  record.point.platform = "dgx-h100";
  record.point.model = read_model("llama2-7b");
  record.point.grid = ProcessGrid(4, 1, 1, 2);
  record.point.options.phase = Phase::decode;
  record.point.options.recompute = Recompute::none;
  record.point.global_batch = 64;
  record.memory_limit = {80e9};
  const Platform platform = read_platform(record.point.platform);
  Point shorter = record.point;
  shorter.model.sequence /= 2;
  const double change = estimate_step(shorter, platform).outcome.total /
                            estimate_step(record.point, platform).outcome.total -
                        1.0;

  const std::vector<Granted> all = granted_changes(record);
  const auto found = std::ranges::find(
      all, fmt::format("sequences of {} tokens", shorter.model.sequence), &Granted::what);

  ASSERT_NE(found, all.end());
  EXPECT_NEAR(found->change, change, 1e-12);
  EXPECT_LT(change, 0.0);
}

// Of training a step is of as many tokens, in twice as many sequences of half the length.
TEST(Granted, OfTrainingAreOfAsManyTokens) {
  Record record;
  record.point.platform = "dgx-h100";
  record.point.model = {"small", 4, 1024, 8, 4096, 4096};
  record.point.grid = ProcessGrid(2, 1, 1, 2);
  record.memory_limit = {80e9};
  for (const std::int64_t batch : {4, 16, 64}) {
    record.point.global_batch = batch;
    const Platform platform = read_platform(record.point.platform);
    Point shorter = record.point;
    shorter.model.sequence /= 2;
    shorter.global_batch *= 2;

    const std::vector<Granted> all = granted_changes(record);
    const auto found = std::ranges::find(all, "sequences of 2048 tokens", &Granted::what);

    ASSERT_NE(found, all.end());
    EXPECT_NEAR(1.0 + found->change,
                estimate_step(shorter, platform).outcome.total /
                    estimate_step(record.point, platform).outcome.total,
                1e-12);
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
    return refusal<FindingFailed>([&] { advise(wish, [](const std::string&, double) {}); });
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
}

// What takes a minute is not simulated again where jitter forbids to extend layers, and is where it
// does not.
TEST(Reruns, OfLongSimulationsAreLeftOutOnlyWithJitter) {
  Question asked = wish_of(path_of_machine("fat-tree-2"), {4}).questions[0];
  asked.grid = ProcessGrid(2, 1, 2, 1);
  asked.micro_batches = 1;
  const ProgressWatch ignore = [](const std::string&, double) {};
  Record record = make_record(asked, find_answer(asked, Fidelity::simulated, {}, ignore),
                              Fidelity::simulated, {});
  record.replay->cpu_s = longest_rerun_s + 1.0;
  std::vector<std::string> keys;
  for (const Ideal& one : rerun(record, ignore)) keys.push_back(one.key);
  EXPECT_THAT(keys, ElementsAre("network", "gemm_empirical", "gemm_advertised"));

  record.point.what_ifs.jitter_percent = 1.0;
  EXPECT_THAT(rerun(record, ignore), IsEmpty());
  record.replay->cpu_s = longest_rerun_s;
  keys.clear();
  for (const Ideal& one : rerun(record, ignore)) keys.push_back(one.key);
  EXPECT_THAT(keys, ElementsAre("without_jitter", "network", "gemm_empirical", "gemm_advertised"));
}

}  // namespace
}  // namespace fourfold::tests
