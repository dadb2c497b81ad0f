// What a step says, as a line for people and as JSON; and the Chrome trace of a step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "engine/train/run/step_report.hpp"
#include "engine/train/run/trace.hpp"
#include "engine/train/run/transport_table.hpp"
#include "schedule/order/issue.hpp"
#include "schedule/order/step.hpp"
#include "support/prose.hpp"

namespace fourfold::tests {
namespace {

StepReport example() {
  StepReport report;
  report.step = 12;
  report.loss = 4.125;
  report.gradient_norm = 1.5;
  report.learning_rate = 0.001;
  report.seconds_left = 75.0;
  report.done = 0.5;
  report.work = {.tokens = 1000, .executed = {4e9}, .model = {5e9}, .peak = {4e11}};
  report.channels = {{Axis::x, ""}, {Axis::z, "gather"}, {Axis::data, ""}};
  const RankStep fast{
      .seconds = 0.01, .staged_bytes = 0, .exposed_seconds = {0.0, 0.0, 0.004}, .kernels = {0.004}};
  const RankStep slow{
      .seconds = 0.02, .staged_bytes = 0, .exposed_seconds = {0.002, 0.0, 0.0}, .kernels = {0.008}};
  add_ranks(report, {fast, slow});
  return report;
}

TEST(StepReport, TakesTheSlowestRankAndTheMeanOfWhatIsExposed) {
  const StepReport report = example();

  EXPECT_DOUBLE_EQ(report.seconds, 0.02);
  EXPECT_DOUBLE_EQ(report.exposed(), 0.003);
  EXPECT_DOUBLE_EQ(report.tokens_per_second(), 50'000.0);
  EXPECT_DOUBLE_EQ(report.rate().value, 2e11);
}

TEST(StepReport, IsOneLineForPeople) {
  const std::string line = screen_line(example());

  for (const char* part : {"step    12", "loss 4.1250", "norm 1.500", "20.0 ms", "50000 tokens/s",
                           "50.0 % of peak", "exposed   3.0 ms", "50 %", "1:15 left"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << " is missing in: " << line;
  }
  EXPECT_LE(line.size(), page_width);
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(StepReport, IsOneLineOfJson) {
  const std::string text = json_line(example());
  const nlohmann::json line = nlohmann::json::parse(text);

  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(line.at("step"), 12);
  EXPECT_DOUBLE_EQ(line.at("loss"), 4.125);
  EXPECT_DOUBLE_EQ(line.at("model_flop_per_s"), 2.5e11);
  EXPECT_DOUBLE_EQ(line.at("part_of_peak"), 0.5);
  EXPECT_DOUBLE_EQ(line.at("kernels_s").at("product"), 0.006);
  EXPECT_EQ(line.at("exposed_s").size(), 3U);
  EXPECT_DOUBLE_EQ(line.at("exposed_s").at("data"), 0.002);
  EXPECT_DOUBLE_EQ(line.at("exposed_s").at("z_gather"), 0.0);
}

TEST(Trace, HasEveryChannelOfEveryRankAndOnlyCollectivesThatDoSomething) {
  const Model model{"tiny", 1, 8, 2, 4, 16};
  const Schedule schedule = issue(record_step(model, {}), {});
  const ProcessGrid grid(2, 1, 1, 1);
  std::vector<OpSpan> spans;
  for (std::size_t op = 0; op < schedule.program.ops.size(); ++op) {
    const double start = 1e-3 * static_cast<double>(op);
    spans.push_back({static_cast<std::int32_t>(op), start, start + 5e-4, 1e-4});
  }

  const std::string text =
      trace_json({schedule.program}, grid, {{0, spans}, {1, spans}}, "a \"title\"");
  const nlohmann::json trace = nlohmann::json::parse(text);

  std::set<std::string> channels;
  std::set<int> ranks, used;
  std::int64_t kernels = 0, waits = 0, collectives = 0;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    ranks.insert(event.at("pid").get<int>());
    if (event.at("name") == "thread_name") channels.insert(event.at("args").at("name"));
    if (event.at("ph") != "X") continue;
    used.insert(event.at("tid").get<int>());
    kernels += event.at("cat") == "kernel";
    waits += event.at("cat") == "wait";
    collectives += event.at("cat") == "collective";
    EXPECT_TRUE(event.at("args").contains("section"));
  }
  EXPECT_EQ(channels, (std::set<std::string>{"compute", "x", "y", "z gather", "z reduce", "data"}));
  EXPECT_EQ(ranks, (std::set<int>{0, 1}));
  EXPECT_EQ(used, (std::set<int>{0, 1}));  // compute and x: the other axes have one member
  EXPECT_GT(kernels, 0);
  EXPECT_GT(collectives, 0);
  EXPECT_EQ(waits, collectives);
  EXPECT_EQ(trace.at("otherData").at("title"), "a \"title\"");
}

TEST(Trace, PutsTheFirstOperationOfASectionInThatSection) {
  const Program program = record_step({"tiny", 1, 8, 2, 4, 16}, {});
  std::vector<OpSpan> spans;
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < program.sections.size(); ++i) {
    const Section& section = program.sections[i];
    const bool empty =
        i + 1 < program.sections.size() && program.sections[i + 1].first_op == section.first_op;
    if (empty || is_posted(program.ops.at(static_cast<std::size_t>(section.first_op)).kind)) {
      continue;
    }
    spans.push_back({section.first_op, 0.0, 1.0, 0.0});
    expected.push_back(section.name);
  }
  ASSERT_GT(expected.size(), 2U);

  const std::string text = trace_json({program}, ProcessGrid(2, 1, 1, 1), {{0, spans}}, "sections");

  std::vector<std::string> found;
  const nlohmann::json trace = nlohmann::json::parse(text);
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") found.push_back(event.at("args").value("section", "none"));
  }
  EXPECT_EQ(found, expected);
}

TEST(Trace, OfManyRanksIsSampledEvenlyAndAlwaysHasRankZero) {
  EXPECT_EQ(traced_ranks(4, 1000), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(traced_ranks(8, most_spans / 4), (std::vector<std::int64_t>{0, 2, 4, 6}));
  EXPECT_EQ(traced_ranks(8, 10 * most_spans), (std::vector<std::int64_t>{0}));
}

TEST(TransportTable, SaysBusBandwidthsAndWhatWasChosen) {
  const ChosenCollective collective{CollectiveKind::all_reduce, Owed::sum, Precision::fp32, 4,
                                    1 << 20};
  const std::string text = table({{"data",
                                   collective,
                                   TransportKind::window,
                                   {{TransportKind::ring, 4e-3}, {TransportKind::window, 2e-3}}}});

  EXPECT_THAT(text, testing::HasSubstr("4.0 MiB     1.57     3.15        -  window"));
}

}  // namespace
}  // namespace fourfold::tests
