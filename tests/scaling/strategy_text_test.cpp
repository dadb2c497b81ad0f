// Answers of searches over strategies in words, over made-up findings of every kind, and the
// command that asks for one strategy again.
#include "scaling/text/strategy_text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "platforms/device_memory.hpp"
#include "scaling/find/strategy_finding.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/golden.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Strategy strategy_of(const Draw& draw, std::int64_t place, std::int64_t devices) {
  const std::string of = fmt::format("strategy {} ", place);
  Strategy strategy;
  strategy.grid = ProcessGrid(1, 2, 1, devices / 8, draw.of<std::int64_t>(of + "stages", {4, 2}));
  strategy.options.micro_batches = draw.of<std::int64_t>(of + "micro-batches", {1, 2, 8});
  strategy.options.zero = draw.below(of + "zero", 2);
  strategy.global_batch =
      strategy.options.micro_batches * (devices / 8) * draw.of<std::int64_t>(of + "size", {1, 3});
  strategy.words = {std::to_string(devices), "1", std::to_string(strategy.options.zero), "full",
                    place % 2 == 0 ? "1f1b" : "gpipe"};
  strategy.seconds = {2.0 + 0.125 * static_cast<double>(place)};
  strategy.rate = {1e14 * (1.0 - 0.0205 * static_cast<double>(place))};
  strategy.memory = {1e9 * static_cast<double>(20 + 3 * place)};
  strategy.alike = draw.of<std::int64_t>(of + "alike", {0, 0, 3});
  return strategy;
}

Influences made_up_influences(const std::vector<Factor>& factors) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  Influences influences;
  influences.factors = {factors[0], factors[2], factors[4]};
  influences.whole = {4e13,
                      1e26,
                      {0.25, 0.5, 0.25},
                      {0.125, 0.3, 0.0625},
                      {{5e13, 3e13}, {1e13, 4e13}, {none, 2.5e13}}};
  influences.feasible = {6e13,
                         4e25,
                         {-1e-17, 0.25, 0.75},
                         {0.0, -1e-18, 0.5},
                         {{7e13, 7e13}, {none, none}, {8e13, none}}};
  return influences;
}

StrategyFinding drawn_finding(std::int64_t number) {
  const Draw draw(number, 0);
  StrategyFinding finding;
  Point& pattern = finding.question.pattern;
  pattern.platform = "frontier";
  pattern.model = {"small", 4, 1024, 8, 512, 4096};
  pattern.global_batch = draw.of<std::int64_t>("batch", {1, 64});
  finding.question.title = draw.of<const char*>("title", {"", "A space"});
  finding.question.model_flags = "--model small";
  finding.platform.title = "A machine";
  finding.platform.software.name = "its-software";
  finding.platform.processor.advertised_peak = {2.5e14};
  if (draw.often("scaled", 30))
    pattern.scales = {{"network.links_per_group_pair", 2.0}, {"nodes", 0.5}};
  StrategySpace& space = finding.question.space;
  space.memory_risk = usual_memory_risk;
  space.devices = draw.of<std::vector<std::int64_t>>("devices", {{16}, {16, 32}});
  if (draw.often("sizes", 50)) space.micro_batch_sizes = {1, 3};
  if (draw.often("counts", 60)) space.micro_batches = {1, 2};
  StrategyAnswer& answer = finding.answer;
  std::vector<std::string> of_devices;
  for (std::int64_t count : space.devices) of_devices.push_back(std::to_string(count));
  answer.factors = {{"devices", of_devices},
                    {"micro-batch-size", {"1", "3"}},
                    {"zero", {"0", "1"}},
                    {"recompute", {"full"}},
                    {"order", {"1f1b", "gpipe"}}};
  const std::int64_t best = draw.of<std::int64_t>("best", {0, 1, 4});
  for (std::int64_t i = 0; i < best; ++i) {
    answer.best.push_back(strategy_of(draw, i, space.devices[i % space.devices.size()]));
  }
  answer.strategies = 5'000;
  answer.feasible = draw.of<std::int64_t>("feasible", {0, 77});
  answer.beaten = draw.of<std::int64_t>("beaten", {0, 123});
  answer.out_of_memory = draw.of<std::int64_t>("out of memory", {0, 9});
  answer.memory_limit = {17.5e9};
  if (answer.out_of_memory > 0) answer.closest = strategy_of(draw, 9, 16);
  if (draw.often("refused", 60)) {
    answer.refused = {{"devices", 12, "x = 3 does not divide 16 devices"},
                      {"heads", 1, "8 heads do not divide by x = 16"}};
  }
  if (draw.often("bar", 60)) {
    finding.bar = ErrorBar{-0.1, 0.2, "of all", 12, 4, -0.3, 0.4, {}, 0.042, 40};
  }
  if (draw.often("influences", 40)) finding.influences = made_up_influences(answer.factors);
  return finding;
}

// One with everything, one that nothing runs, one with ties.
TEST(StrategyText, IsTheRecordedOne) {
  std::string text;
  for (std::int64_t number : {7, 19, 24}) {
    text += fmt::format("== {}\n{}", number, strategy_text(drawn_finding(number)));
  }
  expect_golden("strategies.txt", text);
  StrategyFinding finding = drawn_finding(7);
  finding.answer.factors[4].name = std::string(60, 'o');
  EXPECT_THAT(strategy_text(finding), HasSubstr("Left out to fit the page: MFU; --wide shows"));
  EXPECT_THAT(strategy_text(finding, Width::whole), Not(HasSubstr("Left out")));
}

// The best are numbered, refusals come with their counts, the command asks for the first again, and
// nothing stands beyond a hundred columns but the command.
TEST(StrategyText, OfDrawnFindingsSaysWhatWasFound) {
  for (std::int64_t number = 0; number < 40; ++number) {
    const StrategyFinding finding = drawn_finding(number);
    const StrategyAnswer& answer = finding.answer;
    const std::string text = strategy_text(finding);
    SCOPED_TRACE(number);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(line.size() <= 120 || line.find("fourfold project") != std::string::npos) << line;
    }
    EXPECT_EQ(text.find("No strategy of the space can run") != std::string::npos,
              answer.best.empty());
    for (std::size_t i = 0; i < answer.best.size(); ++i) {
      EXPECT_THAT(text, HasSubstr(fmt::format("\n{} ", i + 1)));
      EXPECT_THAT(text, HasSubstr("  " + answer.best[i].grid.str() + "  "));
      EXPECT_THAT(text, HasSubstr(fmt::format("{:.3f}", answer.best[i].seconds.value)));
      EXPECT_THAT(text, HasSubstr(fmt::format("{:.1f}", answer.best[i].memory.value / 1e9)));
    }
    if (!answer.best.empty()) {
      EXPECT_THAT(text, HasSubstr(project_command(finding.question, answer.best[0])));
    }
    for (const auto& [why, count] : {std::pair{"out of memory", answer.out_of_memory},
                                     {"cannot be among the best", answer.beaten}}) {
      EXPECT_EQ(text.find(fmt::format("{}  {}", count, why)) != std::string::npos, count > 0)
          << why;
    }
    for (const auto& refused : answer.refused) {
      EXPECT_THAT(text,
                  HasSubstr(fmt::format("{}  refused by {}", refused.strategies, refused.rule)));
      EXPECT_THAT(text, HasSubstr(refused.example));
    }
    EXPECT_EQ(text.find("Shapley") != std::string::npos, finding.influences.has_value());
    for (const auto& [key, factor] : finding.question.pattern.scales) {
      EXPECT_THAT(text, HasSubstr(fmt::format("What if: {} times {:g}.", key, factor)));
    }
  }
}

// A lead of the tie's share of the slower rate is no tie any more: 1 / 0.96 is 4.17 % more.
TEST(StrategyText, TiesAreByTheSlowerRate) {
  StrategyFinding finding = drawn_finding(0);
  finding.influences.reset();
  finding.answer.best = {strategy_of(Draw(0, 0), 0, 16), strategy_of(Draw(0, 0), 1, 16)};
  finding.answer.best[1].rate = finding.answer.best[0].rate * 0.96;
  const auto text_with = [&](double tie) {
    finding.bar = ErrorBar{-0.1, 0.2, "of all", 12, 4, -0.3, 0.4, {}, tie, 0};
    return strategy_text(finding);
  };

  EXPECT_THAT(text_with(0.0415), Not(HasSubstr("  tie\n")));
  EXPECT_THAT(text_with(0.0418), HasSubstr("  tie\n"));
}

TEST(ProjectCommand, SaysWhatIsNotUsualAndNothingElse) {
  StrategyQuestion question;
  question.model_flags = "--model gpt-5b --vocabulary 32000";
  question.pattern.platform = "frontier";
  question.pattern.model.sequence = 1024;
  question.space.memory_risk = usual_memory_risk;
  Strategy strategy;
  strategy.grid = ProcessGrid(2, 1, 4, 2);
  strategy.global_batch = 48;
  strategy.options.micro_batches = 3;
  const std::string usual =
      "fourfold project --platform frontier --model gpt-5b --vocabulary 32000 --grid 2x1x4x2 "
      "--micro-batches 3 --batch-tokens 49152";
  const auto more = [&] { return project_command(question, strategy).substr(usual.size()); };
  EXPECT_EQ(project_command(question, strategy), usual);

  // A software may have another attention by default, so it is said.
  strategy.options.zero = 1;
  question.pattern.software = "megatron-core";
  EXPECT_EQ(more(), " --attention fused --zero 1 --software megatron-core");
}

TEST(Influences, OfEqualSharesStayInTheirOrder) {
  Influences influences;
  influences.factors = {{"a", {}}, {"b", {}}, {"c", {}}, {"d", {}}};
  influences.whole.shapley = {0.1, 0.4, 0.1, 0.4};
  influences.feasible.shapley = {0.9, 0.1, 0.0, 0.0};

  EXPECT_EQ(influences.by_share(), (std::vector<std::size_t>{1, 3, 0, 2}));
}

}  // namespace
}  // namespace fourfold::tests
