// Logs of training runs as tables of losses: the newest of each step, of runs that went on from a
// checkpoint, and of logs that were torn.
#include "scaling/study/loss_table.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

std::string run(std::int64_t after, double entropy = 3.5) {
  nlohmann::json line{
      {"kind", "run"},     {"model", {{"name", "m"}, {"parameters", 1.5e6 + after}}},
      {"grid", "1x1x1x2"}, {"unigram_nats", entropy},
      {"data", "a file"},  {"word", "byte"}};
  if (after > 0) line["resumed_after_step"] = after;
  return line.dump() + "\n";
}

std::string line(const char* kind, std::int64_t step, const nlohmann::json& loss) {
  return nlohmann::json{{"kind", kind}, {"step", step}, {"loss", loss}}.dump() + "\n";
}

std::string step(std::int64_t number, const nlohmann::json& loss) {
  return line("step", number, loss);
}

class LossTables : public ::testing::Test {
 protected:
  LossTable table_of(const std::string& text, const std::string& earlier = "") {
    write_content(log_, text);
    return loss_table(log_, earlier);
  }

  TemporaryFolder folder_;
  const std::string log_ = folder_.file("log.jsonl");
};

// The log keeps both branches of a run that goes on from an older checkpoint; the curve is of one.
TEST_F(LossTables, AreOfTheStepsThatCount) {
  const LossTable table =
      table_of(run(0) + step(2, 9.5) + step(1, 4.0) + step(2, 3.0) + line("validation", 2, 3.25) +
               step(3, 2.0) + line("validation", 3, 9.0) + line("other", 7, 1.0) + run(2, 3.75) +
               step(3, nullptr) + step(4, 1.5) + line("end", 4, 0.0));

  EXPECT_EQ(table.csv, loss_columns + std::string("1,4.0,,3.5,0\n2,3.0,3.25,3.5,1\n"
                                                  "3,,,3.75,0\n4,1.5,,3.75,0\n"));
  EXPECT_EQ(table.model, "m, 1.50 million parameters, on grid 1x1x1x2");
  EXPECT_EQ(table.data, "a file");
  EXPECT_EQ(table.word, "byte");
  EXPECT_THAT(refusal<std::runtime_error>([&] { table_of("{}\n"); }),
              HasSubstr("is no log of a training run"));
  EXPECT_THAT(refusal<std::runtime_error>([&] { loss_table(folder_.file("none")); }),
              HasSubstr("cannot read"));
}

TEST_F(LossTables, AreTheSameWhereEachResumeBeginsALogOfItsOwn) {
  std::string whole, csv = "of no run\n";
  for (const std::string& part :
       {run(0) + step(1, 5.5) + step(2, 4.5) + step(3, 3.5), run(2) + step(3, 3.75) + step(4, 2.5),
        run(4) + step(5, 1.5), run(0) + step(1, 5.25)}) {
    csv = table_of(part, csv).csv;
    EXPECT_EQ(loss_table(log_, csv).csv, csv);
    whole += part;
    EXPECT_EQ(table_of(whole).csv, csv);
  }
  EXPECT_EQ(csv, loss_columns + std::string("1,5.25,,3.5,0\n")) << "a run that began anew";
}

// The table is newer than what the first log says before its last run, or where that one was killed
// before there was a table of it, older.
TEST_F(LossTables, TakeStepsOfAnotherLogBetweenTwoRunsOfTheFirst) {
  const std::string first = run(0, 3.25) + step(1, 5.5) + step(2, 4.5) + step(3, 3.5);
  const std::string csv = table_of(first).csv, rest = run(4) + step(5, 1.5);
  const std::string other = run(2) + step(3, 3.75) + step(4, 2.5), begin = "1,5.5,,3.25,0\n2,4.5,,";
  const std::string all =
      loss_columns + begin + "3.25,1\n3,3.75,,3.5,0\n4,2.5,,3.5,1\n5,1.5,,3.5,0\n";

  EXPECT_EQ(table_of(first + rest, table_of(other, csv).csv).csv, all);
  EXPECT_EQ(table_of(first + other + rest, csv).csv, all);
  EXPECT_THAT(table_of(first + other + run(3) + step(4, 1.0), csv).csv,
              HasSubstr("\n3,3.75,,3.5,1\n"));
}

// Wherever a log is torn, and by whatever, the steps of its other lines are in the curve.
TEST_F(LossTables, ReadEveryWholeLineOfATornLog) {
  std::vector<std::string> lines{run(0)};
  for (int i = 1; i <= 5; ++i) lines.push_back(step(i, 0.25 + i));
  for (std::string& one : lines) one.pop_back();
  for (std::size_t torn = 1; torn < lines.size(); ++torn) {
    for (const std::string& damage :
         {lines[torn].substr(0, lines[torn].size() / 2), std::string(), std::string("[[[["),
          std::string(R"({"kind":7})"), std::string("{\"kind\": \"step\"}"),
          std::string("\0\0\0", 3)}) {
      std::string content, csv = loss_columns;
      for (std::size_t i = 0; i < lines.size(); ++i) {
        content += (i == torn ? damage : lines[i]) + (i + 1 == lines.size() ? "" : "\n");
        if (i > 0 && i != torn) csv += fmt::format("{0},{0}.25,,3.5,0\n", i);
      }

      const LossTable table = table_of(content);

      EXPECT_EQ(table.csv, csv) << torn << damage;
      const bool last_is_empty = torn + 1 == lines.size() && damage.empty();  // no line at all
      EXPECT_EQ(table.left_out, last_is_empty ? ""
                                              : fmt::format("line {} of {} is damaged and left out",
                                                            torn + 1, log_));
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
