// What the spans of a measured step become: seconds by kind of kernel, events of a trace, and what
// the step says, as a line for people and as JSON.
#include "engine/train/run/step_report.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/train/run/trace.hpp"
#include "engine/train/run/transport_table.hpp"
#include "schedule/order/issue.hpp"
#include "schedule/order/step.hpp"
#include "support/prose.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;

using Spans = OneRank;

// Of a stage whose turns begin with a message that is chosen.
Program message_driven(std::int64_t stage) {
  StepOptions options;
  options.order = PipelineOrder::message_driven;
  options.micro_batches = 4;
  const Model model{"tiny", 4, 8, 2, 4, 16};
  return issue(record_step(model, options, Stage{stage, 2}), options).program;
}

// One after the other, each a second longer than the one before.
std::vector<OpSpan> spans_of(const Program& program) {
  std::vector<OpSpan> spans;
  double end = 0.0;
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    const double start = end;
    end += 1.0 + static_cast<double>(op);
    spans.push_back({static_cast<std::int32_t>(op), start, end, op % 3 == 0 ? 0.0 : 0.25});
  }
  return spans;
}

bool is_kind(const Program& program, const OpSpan& span, OpKind kind) {
  return program.ops.at(static_cast<std::size_t>(span.op)).kind == kind;
}

TEST_F(Spans, AreAddedUpByTheKindOfTheirKernel) {
  for (const std::int64_t stage : {0, 1}) {
    const Program program = message_driven(stage);
    const std::vector<OpSpan> spans = spans_of(program);
    KernelSeconds expected{};
    double none = 0.0;
    for (const OpSpan& span : spans) {
      const double seconds = span.end - span.start;
      const Op& op = program.ops.at(static_cast<std::size_t>(span.op));
      double* sum = expected.data() + 2;
      if (is_kind(program, span, OpKind::gemm)) sum = expected.data();
      if (is_kind(program, span, OpKind::apply)) sum = expected.data() + 1;
      if (is_kind(program, span, OpKind::update)) sum = expected.data() + 3;
      if (is_collective(op.kind) || is_message(op.kind)) sum = &none;
      if (is_kind(program, span, OpKind::choose)) sum = &none;
      *sum += seconds;
    }

    const KernelSeconds sums = kernel_seconds(program, spans);

    for (std::size_t kind = 0; kind < kernel_groups; ++kind) {
      EXPECT_GT(expected.at(kind), 0.0) << kind;
      EXPECT_NEAR(sums.at(kind), expected.at(kind), 1e-6) << kind;
    }
  }
  EXPECT_EQ(kernel_seconds(message_driven(0), {}), KernelSeconds{});
}

TEST_F(Spans, AreEventsOfTheirOwnKindAndThread) {
  const ProcessGrid grid(2, 1, 1, 1, 2);
  const std::vector<Program> programs{message_driven(0), message_driven(1)};
  const std::vector<OpSpan> spans = spans_of(programs[0]);

  const json trace = json::parse(trace_json(programs, grid, {{1, spans}}, "a \"title\""));

  EXPECT_EQ(trace.at("otherData").at("title"), "a \"title\"");
  EXPECT_EQ(trace.at("otherData").at("written"),
            "Of many ranks only some are written, evenly spread.");
  std::map<std::string, std::vector<json>> by_kind;
  std::set<std::string> threads;
  for (const json& event : trace.at("traceEvents")) {
    EXPECT_EQ(event.at("pid"), 1);
    if (event.at("name") == "thread_name") threads.insert(event.at("args").at("name"));
    if (event.at("ph") == "X") by_kind[event.at("cat")].push_back(event);
  }
  std::map<std::string, std::size_t> expected;
  double waited = 0.0, chosen = 0.0;
  for (const OpSpan& span : spans) {
    const Op& op = programs[0].ops.at(static_cast<std::size_t>(span.op));
    if (op.kind == OpKind::choose) {
      ++expected["wait"];
      chosen += span.end - span.start;
    } else if (!is_posted(op.kind)) {
      ++expected["kernel"];
    } else if (grid.extent(op.axis) > 1) {
      ++expected[is_message(op.kind) ? "message" : "collective"];
      expected["wait"] += span.waited > 0.0 ? 1 : 0;
      waited += span.waited;
    }
  }
  ASSERT_GT(chosen, 0.0);
  for (const char* thread : {"compute", "x", "y", "z gather", "z reduce", "data"}) {
    EXPECT_TRUE(threads.contains(thread)) << thread;
  }
  EXPECT_EQ(by_kind.size(), expected.size());
  for (const auto& [kind, count] : expected) EXPECT_EQ(by_kind[kind].size(), count) << kind;
  double seconds = 0.0;
  for (const json& wait : by_kind["wait"]) {
    EXPECT_EQ(wait.at("tid"), 0);
    seconds += wait.at("dur").get<double>() * 1e-6;
  }
  EXPECT_NEAR(seconds, waited + chosen, 1e-6);
  for (const json& message : by_kind["message"]) EXPECT_GT(message.at("tid"), 0);
}

TEST_F(Spans, OfTheFirstOperationOfASectionAreInThatSection) {
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
  const json trace = json::parse(text);
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") found.push_back(event.at("args").value("section", "none"));
  }
  EXPECT_EQ(found, expected);
}

// A wait ends where its collective does.
TEST_F(Spans, EndWithTheWaitForThem) {
  const Program program = message_driven(0);
  std::int32_t posted = 0;
  while (!is_message(program.ops.at(static_cast<std::size_t>(posted)).kind)) ++posted;

  const json trace = json::parse(trace_json({program, program}, ProcessGrid(1, 1, 1, 1, 2),
                                            {{0, {{posted, 2.0, 5.0, 0.5}}}}, "a title"));

  std::vector<json> events;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") events.push_back(event);
  }
  ASSERT_EQ(events.size(), 2U);
  EXPECT_DOUBLE_EQ(events[0].at("ts"), 2e6);
  EXPECT_DOUBLE_EQ(events[0].at("dur"), 3e6);
  EXPECT_DOUBLE_EQ(events[1].at("ts"), 4.5e6);
  EXPECT_DOUBLE_EQ(events[1].at("dur"), 0.5e6);
  EXPECT_TRUE(events[1].at("name").get<std::string>().starts_with("wait for "));
}

TEST_F(Spans, OfAsManyRanksAsThereIsRoomForAreWritten) {
  for (const std::int64_t ranks : {1, 2, 5, 8, 64}) {
    for (const std::int64_t each : {std::int64_t{0}, std::int64_t{1}, most_spans / 64,
                                    most_spans / 3, most_spans / 2 + 1, 9 * most_spans}) {
      const std::vector<std::int64_t> chosen = traced_ranks(ranks, each);

      ASSERT_FALSE(chosen.empty());
      const std::int64_t count = std::ssize(chosen);
      EXPECT_EQ(chosen.front(), 0);
      EXPECT_LT(chosen.back(), ranks);
      EXPECT_TRUE(count == 1 || count * each <= most_spans);
      EXPECT_TRUE(count == ranks || (count + 1) * each > most_spans);
      for (std::size_t i = 1; i < chosen.size(); ++i) {
        EXPECT_LE(std::abs((chosen[i] - chosen[i - 1]) * count - ranks), count);
      }
    }
  }
}

StepReport of_ranks(const std::vector<RankStep>& ranks) {
  StepReport report;
  report.work = {.tokens = 600, .executed = {6e9}, .model = {3e9}, .peak = {12e9}};
  report.channels = {{Axis::x, ""}, {Axis::data, ""}};
  add_ranks(report, ranks);
  return report;
}

// Of three ranks, so that no mean is one over two, or over four kinds of kernels.
TEST_F(Spans, OfAllRanksAreOneStep) {
  const StepReport report = of_ranks({{0.5, 100, {0.3, 0.0}, {0.3, 0.0, 0.6, 0.9}},
                                      {2.0, 20, {0.0, 0.6}, {0.0, 0.3, 0.0, 0.0}},
                                      {1.0, 3, {0.6, 0.3}, {0.3, 0.3, 0.3, 0.3}}});

  EXPECT_DOUBLE_EQ(report.seconds, 2.0);
  EXPECT_EQ(report.staged_bytes, 123);
  EXPECT_DOUBLE_EQ(report.exposed_seconds.at(0), 0.3);
  EXPECT_DOUBLE_EQ(report.exposed_seconds.at(1), 0.3);
  EXPECT_DOUBLE_EQ(report.exposed(), 0.6);
  const json line = json::parse(json_line(report));
  EXPECT_NEAR(line.at("kernels_s").at("product").get<double>(), 0.2, 1e-12);
  EXPECT_NEAR(line.at("kernels_s").at("attention").get<double>(), 0.2, 1e-12);
  EXPECT_NEAR(line.at("kernels_s").at("map").get<double>(), 0.3, 1e-12);
  EXPECT_NEAR(line.at("kernels_s").at("update").get<double>(), 0.4, 1e-12);
  EXPECT_DOUBLE_EQ(line.at("executed_flop_per_s"), 3e9);
  EXPECT_DOUBLE_EQ(line.at("model_flop_per_s"), 1.5e9);
  EXPECT_DOUBLE_EQ(line.at("tokens_per_s"), 300.0);
  EXPECT_DOUBLE_EQ(line.at("part_of_peak"), 0.25);
  EXPECT_DOUBLE_EQ(line.at("exposed_s").at("data"), 0.3);
}

TEST_F(Spans, AreOneLineForPeople) {
  StepReport report = of_ranks({{0.02, 0, {0.006, 0.0}, {}}});
  report.step = 12;
  report.loss = 4.125;
  report.gradient_norm = 1.5;
  report.learning_rate = 0.001;
  report.seconds_left = 75.0;
  report.done = 0.5;
  const std::string line = screen_line(report);

  for (const char* part : {"step    12", "loss 4.1250", "norm 1.500", "20.0 ms", "30000 tokens/s",
                           "2500.0 % of peak", "exposed   6.0 ms", "50 %", "1:15 left"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << " is missing in: " << line;
  }
  EXPECT_LE(line.size(), page_width);
  EXPECT_EQ((line + json_line(report)).find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(json_line(report)).at("step"), 12);
  EXPECT_DOUBLE_EQ(json::parse(json_line(report)).at("loss"), 4.125);
}

TEST_F(Spans, WhatFewStepsHaveIsSaidByThoseAlone) {
  StepReport report = of_ranks({{0.5, 0, {0.0, 0.0}, {}}});
  const json usual = json::parse(json_line(report));
  for (const char* key : {"reference_s", "targets", "staged_B"}) {
    EXPECT_FALSE(usual.contains(key)) << key;
  }

  report.reference_seconds = 0.25;
  report.targets = 600;  // all of them, as it happens
  report.staged_bytes = 1;
  json line = json::parse(json_line(report));

  EXPECT_EQ(line.at("reference_s"), 0.25);
  EXPECT_EQ(line.at("targets"), 600);
  EXPECT_EQ(line.at("staged_B"), 1);
  for (const char* key : {"reference_s", "targets", "staged_B"}) line.erase(key);
  EXPECT_EQ(line, usual);
  report.targets = 0;
  EXPECT_EQ(json::parse(json_line(report)).at("targets"), 0);
}

// Bus bandwidth is what the link carries: of an all-reduce 2 (n-1)/n of the whole, of the others
// (n-1)/n.
TEST_F(Spans, OfTransportsAreBusBandwidths) {
  struct Row {
    CollectiveKind kind;
    Precision precision;
    std::int64_t elements;
    const char* line;
  };
  for (const Row& row :
       std::vector<Row>{{CollectiveKind::all_reduce, Precision::fp32, 500'000'000,
                         "all-reduce      fp32        4   1.863 GiB      1.5        -        3"},
                        {CollectiveKind::all_gather, Precision::bf16, 1'000'000'000,
                         "all-gather      bf16        4   1.863 GiB     0.75        -      1.5"},
                        {CollectiveKind::reduce_scatter, Precision::fp32, (1 << 18) - 256,
                         "reduce-scatter  fp32        4    1023 KiB 0.000393        - 0.000786"},
                        {CollectiveKind::reduce_scatter, Precision::fp32, 1 << 18,
                         "reduce-scatter  fp32        4       1 MiB 0.000393        - 0.000786"}}) {
    const ChosenCollective collective{row.kind, Owed::sum, row.precision, 4, row.elements};
    const std::string text = table({{"z_gather",
                                     collective,
                                     TransportKind::library,
                                     {{TransportKind::ring, 2.0}, {TransportKind::library, 1.0}}}});
    EXPECT_EQ(text.substr(text.find('\n') + 1),
              "z_gather     " + std::string(row.line) + "  library\n");
  }
}

}  // namespace
}  // namespace fourfold::tests
