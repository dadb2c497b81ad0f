// Advice in words, over made-up answers that fall on both sides of every turn of its sentences.
#include "scaling/text/advice_text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/drawn_steps.hpp"
#include "tests/golden.hpp"
#include "tests/scaling/made_up_record.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

// From 10^least to 10^most, evenly on a logarithmic scale.
double magnitude(const Draw& draw, const std::string& what, double least, double most) {
  const double part = static_cast<double>(draw.below(what, 1000)) / 1000.0;
  return std::pow(10.0, least + part * (most - least));
}

Fact fact_of(const Draw& draw, const std::string& key, double value) {
  return {"operation." + key, value, draw.of<const char*>(key, {"made up", "a handbook"}),
          draw.often(key + " unconfirmed", 50)};
}

AdviceOption drawn_option(const Draw& draw, const Advice& advice, std::int64_t place) {
  const std::string of = fmt::format("option {} ", place);
  AdviceOption option;
  Record& record = option.record;
  record = made_up_record();
  record.fidelity = draw.of<Fidelity>("fidelity", {Fidelity::estimated, Fidelity::simulated});
  record.uniform.reset();
  record.outcome.total = {magnitude(draw, of + "seconds", -1.0, 2.0)};
  record.outcome.compute = record.outcome.total * 0.5;
  record.estimated = record.outcome.total * 0.75;
  record.uniform.reset();
  record.point.options.micro_batches = draw.of<std::int64_t>(of + "micro-batches", {1, 2, 12});
  record.point.grid = ProcessGrid(2, 1, 4, place + 1, draw.of<std::int64_t>("stages", {1, 4}));
  record.best_grids[0].grid = record.point.grid;
  const auto near = [&](const std::string& what, Seconds time) {
    return time * (0.98 + 0.125 * magnitude(draw, of + what, -1.0, 0.0));
  };
  record.best_grids[1].estimated = near("next", record.estimated);
  record.best_grids[1].simulated = near("next, simulated", record.seconds());
  record.best_grids[2].estimated = near("third", record.estimated);
  if (draw.often(of + "alone", 20)) record.best_grids.resize(1);
  if (draw.often(of + "no bar", 30)) record.bar.reset();
  option.nodes = draw.of<std::int64_t>(of + "nodes", {1, 7, 128}) * (place + 1);
  option.step_days = magnitude(draw, of + "days", -5.0, 4.0);
  if (advice.operation.node_failures && advice.operation.file_system) {
    const CheckpointCost cost{{magnitude(draw, of + "between", 3.0, 7.0)},
                              {magnitude(draw, of + "write", -1.0, 4.0)},
                              {magnitude(draw, of + "restart", 0.0, 4.0)}};
    option.failures = Failures{cost, daly_interval(cost), magnitude(draw, of + "stretch", 0.0, 0.4),
                               magnitude(draw, of + "tenfold", 0.4, draw.of("end", {1.0, 9.0}))};
    if (draw.often(of + "slow adapters", 30)) option.failures->adapters = BytesPerSecond{40e9};
  }
  if (advice.operation.node_power) option.energy_MWh = magnitude(draw, of + "energy", -1.0, 5.0);
  return option;
}

Advice drawn_advice(std::int64_t number) {
  const Draw draw(number, 0);
  Advice advice;
  advice.wish.tokens = magnitude(draw, "tokens", 6.0, 13.0);
  if (draw.often("deadline", 60)) advice.wish.deadline_days = magnitude(draw, "due", -1.0, 3.0);
  if (draw.often("budget", 60)) advice.wish.node_hours = magnitude(draw, "hours", 0.0, 7.0);
  advice.platform.name = "made-up";
  advice.platform.title = "a machine that is made up";
  advice.checkpoint = {magnitude(draw, "checkpoint", 9.0, 14.0)};
  if (draw.often("failures", 70)) {
    advice.operation.node_failures = fact_of(draw, "node_failures_per_day", 0.0125);
  }
  if (draw.often("file system", 80)) {
    advice.operation.file_system = fact_of(draw, "file_system_write_GBps", 250.0);
  }
  if (draw.often("power", 60)) advice.operation.node_power = fact_of(draw, "node_power_W", 2472.5);
  const std::int64_t options = draw.of<std::int64_t>("options", {1, 2, 3});
  for (std::int64_t i = 0; i < options; ++i) {
    advice.options.push_back(drawn_option(draw, advice, i));
  }
  if (draw.often("refused", 40)) {
    advice.refused = {"1 device: nothing fits", "9999 devices: too many, made-up has 128"};
  }
  choose(advice);
  return advice;
}

// One within all limits, and one that ends never.
TEST(AdviceText, IsTheRecordedOne) {
  std::string text;
  for (std::int64_t number : {0, 11}) {
    text += fmt::format("== {}\n{}", number, advice_text(drawn_advice(number)));
  }
  expect_golden("advices.txt", text);
}

std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// Each option has a row, the chosen one is taken, and each number of the operation comes with who
// says it; nothing stands beyond a hundred columns.
TEST(AdviceText, OfDrawnAnswersSaysWhatWasChosen) {
  int unlike = 0;  // intervals of Young and Daly
  for (std::int64_t number = 0; number < 60; ++number) {
    const Advice advice = drawn_advice(number);
    const std::string text = advice_text(advice);
    const std::string line_of_all = on_one_line(text);
    SCOPED_TRACE(number);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110U) << line;
    const AdviceOption& chosen = advice.options[advice.chosen];
    EXPECT_THAT(line_of_all, HasSubstr(fmt::format(" {} devices ({} node", chosen.record.devices(),
                                                   chosen.nodes)));
    EXPECT_THAT(line_of_all, HasSubstr("grid " + chosen.record.point.grid.str()));
    for (const AdviceOption& option : advice.options) {
      EXPECT_THAT(text, HasSubstr("  " + option.record.point.grid.str()));
    }
    EXPECT_EQ(line_of_all.find("the deadline of") != std::string::npos,
              advice.wish.deadline_days.has_value());
    EXPECT_EQ(line_of_all.find("the budget of") != std::string::npos,
              advice.wish.node_hours.has_value());
    if (advice.operation.node_power) {
      EXPECT_THAT(line_of_all, HasSubstr("Energy: 2472.5 W a node ("));
    }
    if (advice.operation.node_failures && advice.operation.file_system) {
      EXPECT_THAT(line_of_all,
                  HasSubstr("0.0125 a node and day: " + advice.operation.node_failures->source));
      const std::string file_system = "250 GB/s (" + advice.operation.file_system->source;
      const bool slower = chosen.failures->adapters.has_value();
      EXPECT_THAT(
          line_of_all,
          HasSubstr(slower ? "at 40 GB/s, all that the nodes' adapters send; the file system "
                             "would take " +
                                 file_system
                           : "at " + file_system));
      std::smatch run;
      EXPECT_TRUE(std::regex_search(
          line_of_all, run,
          std::regex("The run takes (.*?)( instead of |, as without them)(.*?);")));
      EXPECT_NE(run[1], run[3]);
      EXPECT_TRUE(std::regex_search(
          line_of_all, run, std::regex("Write one every (.*?) \\(Young (.*?), Daly (.*?)\\)")));
      EXPECT_EQ(run[1], run[3]);
      unlike += run[2] != run[3] ? 1 : 0;
    }
    for (const std::string& refused : advice.refused) EXPECT_THAT(line_of_all, HasSubstr(refused));
  }
  EXPECT_GT(unlike, 0);
}

Advice plain_advice() {
  Advice advice = drawn_advice(0);
  advice.operation = {};
  advice.wish.deadline_days.reset();
  advice.wish.node_hours.reset();
  advice.options.resize(1);
  advice.options[0].failures.reset();
  advice.options[0].energy_MWh.reset();
  advice.chosen = 0;
  advice.second.reset();
  return advice;
}

// What a day and less is called, on both sides of each end.
TEST(AdviceText, TellsTimesInTheUnitThatShowsThem) {
  const auto time_of = [](double seconds) {
    Advice advice = plain_advice();
    advice.options[0].step_days = seconds / 86'400.0;
    const std::string text = advice_text(advice);
    const std::size_t begin = text.find(':', text.find("micro-batch")) + 2;
    return text.substr(begin, std::min(text.find(',', begin), text.find(".\n", begin)) - begin);
  };

  for (const auto& [seconds, words] : {std::pair{0.04, "0.0 s"},
                                       {9.94, "9.9 s"},
                                       {9.96, "10 s"},
                                       {119.4, "119 s"},
                                       {120.0, "2.0 min"},
                                       {1'199.0, "20.0 min"},
                                       {1'200.0, "20 min"},
                                       {7'190.0, "120 min"},
                                       {7'200.0, "2.0 h"},
                                       {86'390.0, "24.0 h"},
                                       {86'400.0, "1.0 days"},
                                       {99.94 * 86'400.0, "99.9 days"},
                                       {99.96 * 86'400.0, "100 days"},
                                       {1e6 * 86'400.0, "1000000 days"},
                                       {1.001e6 * 86'400.0, "never"},
                                       {INFINITY, "never"}}) {
    EXPECT_EQ(time_of(seconds), words) << seconds;
  }
}

// A batch more is a step more; a batch is whole.
TEST(AdviceText, TellsCheckpointsTokensAndStepsInTheirUnits) {
  Advice advice = plain_advice();
  advice.operation.node_failures = Fact{"", 0.5, "made up", false};
  advice.operation.file_system = Fact{"", 4.0, "measured", true};
  const CheckpointCost cost{{1e6}, {100.0}, {600.0}};
  advice.options[0].failures = Failures{cost, daly_interval(cost), 1.5, 3.0};
  advice.options[0].record.point.global_batch = 100;
  advice.options[0].record.point.model.sequence = 10;
  struct Case {
    double checkpoint, tokens;
    const char* words;
  };
  for (const Case& one : std::vector<Case>{{999.4e9, 300e9, "A checkpoint of 999 GB (12 bytes"},
                                           {1e12, 300e9, "A checkpoint of 1.0 TB (12 bytes"},
                                           {1e12, 300e9, "with 300B tokens on"},
                                           {1e12, 1.5e12, "with 1.50T tokens on"},
                                           {1e12, 20e6, "with 20.0M tokens on"},
                                           {1e12, 1.0, ": 1 step of 1000 tokens"},
                                           {1e12, 3000.0, ": 3 steps of 1000 tokens"},
                                           {1e12, 3001.0, ": 4 steps of 1000 tokens"},
                                           {1e12, 1.0, "(0.5 a node and day: made up)"},
                                           {1e12, 1.0, "at 4 GB/s (measured; UNCONFIRMED)"}}) {
    advice.checkpoint = {one.checkpoint};
    advice.wish.tokens = one.tokens;
    EXPECT_THAT(on_one_line(advice_text(advice)), HasSubstr(one.words));
  }
}

TEST(AdviceJson, HasWhatTheAdviceHas) {
  const auto of_number = [](const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
  };
  const auto of_fact = [](const std::optional<Fact>& fact) {
    return !fact ? nlohmann::json()
                 : nlohmann::json{{"value", fact->value},
                                  {"source", fact->source},
                                  {"unconfirmed", fact->unconfirmed}};
  };
  for (std::int64_t number = 0; number < 20; ++number) {
    const Advice advice = drawn_advice(number);

    const nlohmann::json json = json_of(advice);

    nlohmann::json rest = json;
    for (const char* other : {"options", "granted", "chosen_flags"}) rest.erase(other);
    const nlohmann::json expected{
        {"format", "fourfold-advice-1"},
        {"tokens", advice.wish.tokens},
        {"deadline_days", of_number(advice.wish.deadline_days)},
        {"node_hours", of_number(advice.wish.node_hours)},
        {"checkpoint_bytes", advice.checkpoint.value},
        {"node_power_W", of_fact(advice.operation.node_power)},
        {"node_failures_per_day", of_fact(advice.operation.node_failures)},
        {"file_system_write_GBps", of_fact(advice.operation.file_system)},
        {"holds", advice.holds},
        {"chosen", advice.chosen},
        {"second", advice.second ? nlohmann::json(*advice.second) : nlohmann::json()},
        {"refused", advice.refused}};
    EXPECT_EQ(rest, expected);
    ASSERT_EQ(json.at("options").size(), advice.options.size());
    for (std::size_t i = 0; i < advice.options.size(); ++i) {
      const AdviceOption& option = advice.options[i];
      nlohmann::json one = json.at("options").at(i);
      EXPECT_EQ(one.at("record").at("point").at("grid"), option.record.point.grid.str());
      one.erase("record");
      nlohmann::json numbers{{"nodes", option.nodes},
                             {"days_without_failures", option.step_days},
                             {"days", option.days()},
                             {"node_hours", option.node_hours()},
                             {"energy_MWh", of_number(option.energy_MWh)}};
      if (option.failures) {
        const Failures& failures = *option.failures;
        numbers["failures"] = {{"between_failures_s", failures.cost.between_failures.value},
                               {"checkpoint_write_s", failures.cost.write.value},
                               {"checkpoint_limit", failures.adapters ? "adapters" : "file system"},
                               {"restart_s", failures.cost.restart.value},
                               {"young_interval_s", young_interval(failures.cost).value},
                               {"daly_interval_s", daly_interval(failures.cost).value},
                               {"interval_s", failures.interval.value},
                               {"stretch", failures.stretch},
                               {"stretch_with_tenfold_failures", failures.tenfold}};
      }
      EXPECT_EQ(one, numbers);
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
