// Timelines and traces say what the outcome says, span by span, in every pipeline order: kernels
// lie in the turn of their micro-batch, waits end with what they are for, and what a sampled
// timeline writes is in the whole one.
#include "sim/explain/timeline.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedule/models/model_file.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/order_chart.hpp"
#include "sim/explain/trace.hpp"
#include "tests/points.hpp"
#include "tests/schedule/orders.hpp"
#include "tests/sim/spans.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t micro_batches = 12;

Point tiny(std::int64_t layers, const ProcessGrid& grid, const StepOptions& options) {
  return made_up_point("crossbar", {"tiny", layers, 1024, 8, 256, 4096}, grid,
                       options.micro_batches * 2 * grid.extent(Axis::data), options);
}

Point plain(std::int64_t layers, std::int64_t micro_batches) {
  return tiny(layers, {2, 2, 2, 2}, with(PipelineOrder::one_f_one_b, micro_batches));
}

// Three stages, with messages whole or cut.
std::vector<Point> pipelines() {
  std::vector<Point> all;
  const ProcessGrid grid(2, 1, 2, 1, 3);
  for (bool cut : {false, true}) {
    std::vector<StepOptions> orders{with(PipelineOrder::interleaved, micro_batches, 2)};
    for (PipelineOrder order : {PipelineOrder::one_f_one_b, PipelineOrder::gpipe,
                                PipelineOrder::zero_bubble, PipelineOrder::message_driven}) {
      orders.push_back(with(order, micro_batches));
    }
    for (std::int64_t limit : {1, 2}) {
      orders.push_back(with(PipelineOrder::message_driven, micro_batches));
      orders.back().pipeline_limit = limit;
    }
    for (StepOptions& options : orders) {
      options.cut_messages = cut;
      all.push_back(tiny(7, grid, options));
    }
  }
  return all;
}

std::vector<Point> points() {
  std::vector<Point> all = pipelines();
  all.push_back(plain(5, 4));
  all.push_back(plain(12, 8));
  return all;
}

struct Case {
  explicit Case(Point asked) : point(std::move(asked)) {}

  std::int64_t stages() const { return point.grid.extent(Axis::pipe); }
  std::vector<Span> spans(std::int64_t stage, Repeated repeated) const {
    return timeline(estimated_log(program, stage), detail, LoggedRepetitions::all(program),
                    repeated, stage);
  }
  std::string title(std::int64_t stage) const {
    return fmt::format("{} of {}{}, stage {}", name(point.options.order), point.grid.str(),
                       point.options.cut_messages ? " with cut messages" : "", stage);
  }

  Point point;
  Platform platform = read_platform("crossbar");
  TimedProgram program = lower(point, platform);
  ProgramDetail detail{point, platform, program};
};

TEST(Timeline, HasSpansOfKindsThatNamesTellApart) {
  std::set<std::string> names;
  for (const SpanKind kind : {SpanKind::kernel, SpanKind::interference, SpanKind::wait,
                              SpanKind::collective, SpanKind::skipped}) {
    EXPECT_TRUE(names.insert(name(kind)).second) << name(kind);
  }
}

TEST(Timeline, SpansOfAllStagesSumToTheOutcome) {
  for (const Point& point : points()) {
    const Case c(point);
    const Outcome outcome = estimate_step(c.program);
    std::map<SpanKind, double> seconds;
    double last = 0.0;
    for (std::int64_t stage = 0; stage < c.stages(); ++stage) {
      const std::vector<Span> spans = c.spans(stage, Repeated::all);
      const double end = estimated_log(c.program, stage).end;
      EXPECT_NEAR(expect_whole(spans, 1e-9, c.title(stage)), end, 1e-9) << c.title(stage);
      std::map<std::pair<SpanKind, ChannelNumber>, double> ends;  // by lane
      for (const Span& span : spans) {
        seconds[span.kind] += (span.end - span.start).value;
        double& before = ends[{span.kind, span.channel}];
        EXPECT_GE(span.start.value, before - 1e-9) << c.title(stage);
        before = span.end.value;
        EXPECT_LT(span.micro_batch, point.options.micro_batches) << c.title(stage);
        EXPECT_LT(section_of(span, c.detail).layer, point.model.layers) << c.title(stage);
        if (span.kind == SpanKind::kernel) {
          EXPECT_GE(span.name, 0) << c.title(stage);
        }
      }
      last = std::max(last, end);
    }
    double busy = 0.0;
    for (Seconds channel : outcome.busy) busy += channel.value;
    const auto stages = static_cast<double>(c.stages());
    EXPECT_NEAR(last, outcome.total.value, 1e-9) << c.title(0);
    EXPECT_NEAR(seconds[SpanKind::wait] / stages, outcome.exposed_total().value, 1e-9)
        << c.title(0);
    EXPECT_NEAR((seconds[SpanKind::kernel] + seconds[SpanKind::interference]) / stages,
                outcome.compute.value, 1e-9)
        << c.title(0);
    EXPECT_NEAR(seconds[SpanKind::collective] / stages, busy, 1e-9) << c.title(0);
    EXPECT_EQ(seconds[SpanKind::skipped], 0.0) << c.title(0);
  }
}

// More micro-batches than are recorded: those of the steady stretch have one section together.
TEST(Timeline, LayersAreNumberedInTheOrderOfThePassAndEveryMicroBatchIsNamed) {
  const Case c(plain(5, 8));
  std::vector<std::int64_t> forward, backward;
  std::set<std::int64_t> found;
  for (const Span& span : c.spans(0, Repeated::all)) {
    const NamedSection& section = section_of(span, c.detail);
    found.insert(span.micro_batch);
    if (span.micro_batch != 2 || span.kind != SpanKind::kernel) continue;
    auto& layers = section.name == "forward" ? forward : backward;
    if (section.name != "forward" && section.name != "backward") continue;
    if (layers.empty() || layers.back() != section.layer) layers.push_back(section.layer);
  }
  EXPECT_EQ(forward, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(backward, (std::vector<std::int64_t>{4, 3, 2, 1, 0}));
  found.erase(-1);  // what belongs to the step as a whole
  EXPECT_EQ(found, (std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Timeline, RefusesTheProgramOfAnotherPoint) {
  const Case c(plain(5, 4));
  Point other = c.point;
  other.grid = ProcessGrid(1, 4, 2, 2);

  EXPECT_THROW(ProgramDetail(other, c.platform, c.program), std::logic_error);
}

TEST(Turns, HaveTheKernelsOfTheirMicroBatch) {
  const std::map<StepPart, std::string> parts{{StepPart::forward, "forward"},
                                              {StepPart::backward, "backward"},
                                              {StepPart::input_gradient, "input gradient"},
                                              {StepPart::weight_gradient, "weight gradient"}};
  for (const Point& point : pipelines()) {
    const Case c(point);
    const OrderChart chart = chart_of(point, c.platform);
    for (std::int64_t stage = 0; stage < c.stages(); ++stage) {
      const std::vector<ChartedTurn>& turns = chart.stages[static_cast<std::size_t>(stage)];
      const double slack = 1e-9 * chart.end.value;
      std::set<std::int64_t> named;
      std::int64_t strange = 0, nameless = 0, in_turns = 0;

      for (const Span& span : c.spans(stage, Repeated::all)) {
        if (span.kind != SpanKind::kernel) continue;
        const auto turn = std::ranges::find_if(turns, [&](const ChartedTurn& one) {
          return one.start.value <= span.start.value + slack &&
                 one.end.value >= span.end.value - slack;
        });
        if (turn == turns.end()) {
          if (span.micro_batch >= 0) ++strange;
          continue;
        }
        ++in_turns;
        named.insert(span.micro_batch);
        if (span.micro_batch < 0) ++nameless;
        if (span.micro_batch >= 0 && span.micro_batch != turn->micro_batch) ++strange;
        const NamedSection& section = section_of(span, c.detail);
        if (section.layer >= 0 && section.name != parts.at(turn->part)) ++strange;
      }

      EXPECT_EQ(strange, 0) << c.title(stage);
      EXPECT_GT(in_turns, 0) << c.title(stage);
      // Of an interleaved order only the first period is named.
      if (point.options.chunks > 1) continue;
      EXPECT_EQ(nameless, 0) << c.title(stage);
      EXPECT_EQ(named.size(), static_cast<std::size_t>(micro_batches)) << c.title(stage);
    }
  }
}

// The end of a wait is that of a collective of the same kind on the same channel, or as much later
// as that lost to kernels.
TEST(Turns, WaitForWhatEndsThen) {
  for (const Point& point : points()) {
    const Case c(point);
    for (std::int64_t stage = 0; stage < c.stages(); ++stage) {
      const std::vector<Span> spans = c.spans(stage, Repeated::all);
      std::map<std::pair<ChannelNumber, std::int32_t>, std::vector<double>> ends;
      for (const Span& span : spans) {
        if (span.kind != SpanKind::collective) continue;
        ends[{span.channel, span.collective}].push_back(span.end.value);
      }
      std::int64_t waits = 0, strange = 0;

      for (const Span& span : spans) {
        if (span.kind != SpanKind::wait) continue;
        ++waits;
        const TimedCollective& timed =
            c.program.collectives[static_cast<std::size_t>(span.collective)];
        EXPECT_EQ(timed.channel, span.channel) << c.title(stage);
        const double late = most_late(timed.lost, timed.uncontended).value + 1e-12;
        const std::vector<double>& known = ends[{span.channel, span.collective}];
        const bool found = std::ranges::any_of(known, [&](double end) {
          return span.end.value >= end - 1e-12 && span.end.value <= end + late;
        });
        if (!found) ++strange;
      }

      EXPECT_GT(waits, 0) << c.title(stage);
      EXPECT_EQ(strange, 0) << c.title(stage);
    }
  }
}

TEST(Turns, SampledAreSomeOfAll) {
  int fewer = 0;
  for (const Point& point : points()) {
    const Case c(point);
    for (std::int64_t stage = 0; stage < c.stages(); ++stage) {
      const std::vector<Span> all = c.spans(stage, Repeated::all);
      const std::vector<Span> some = c.spans(stage, Repeated::sampled);
      fewer += some.size() < all.size() ? 1 : 0;
      EXPECT_NEAR(expect_whole(some, 1e-9, c.title(stage)), estimated_log(c.program, stage).end,
                  1e-9)
          << c.title(stage);
      std::size_t next = 0;
      for (const Span& span : some) {
        if (span.kind == SpanKind::skipped) continue;
        while (next < all.size() &&
               !(all[next].kind == span.kind && all[next].name == span.name &&
                 all[next].section == span.section && all[next].channel == span.channel &&
                 all[next].micro_batch == span.micro_batch && all[next].start == span.start &&
                 all[next].end == span.end)) {
          ++next;
        }
        ASSERT_LT(next, all.size()) << c.title(stage);
      }
      // A queue's turns are written by their micro-batches: the first two, one in the middle, and
      // the last two.
      if (point.options.order != PipelineOrder::message_driven) continue;
      std::map<std::string, std::set<std::int64_t>> written;
      for (const Span& span : some) {
        const NamedSection& section = section_of(span, c.detail);
        if (span.kind == SpanKind::kernel && section.layer >= 0 && span.micro_batch >= 0) {
          written[section.name].insert(span.micro_batch);
        }
      }
      for (const char* part : {"forward", "backward"}) {
        EXPECT_EQ(written.at(part), (std::set<std::int64_t>{0, 1, 6, 10, 11})) << c.title(stage);
      }
    }
  }
  EXPECT_GT(fewer, 10);
}

TEST(Turns, OfAReadyQueueWaitForTheirOwnMessages) {
  std::int64_t turned = 0;
  for (const Point& point : pipelines()) {
    if (point.options.order != PipelineOrder::message_driven) continue;
    const Case c(point);
    for (std::int64_t stage = 0; stage < c.stages(); ++stage) {
      turned += expect_own_messages(c.spans(stage, Repeated::all), c.detail, c.title(stage));
    }
  }
  EXPECT_GT(turned, 0);
}

TEST(Trace, NamesItsLanesAndSaysWhetherItIsWhole) {
  const Case c(plain(12, 4));
  const auto traced = [&](Repeated repeated) {
    return nlohmann::json::parse(
        trace_json({{0, "rank 0", c.spans(0, repeated)}}, c.detail, "tiny \"quoted\""));
  };
  const nlohmann::json trace = traced(Repeated::all);
  std::vector<std::string> threads;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("name") == "thread_name") threads.push_back(event.at("args").at("name"));
  }

  EXPECT_EQ(threads,
            (std::vector<std::string>{"compute", "x", "y", "z gather", "z reduce", "data"}));
  EXPECT_EQ(trace.at("otherData").at("title"), "tiny \"quoted\"");
  EXPECT_EQ(trace.at("otherData").at("written"), "Every layer and micro-batch is written.");
  const std::string some = traced(Repeated::sampled).at("otherData").at("written");
  EXPECT_NE(some.find("only some are written"), std::string::npos);
}

// What decides whether a trace is whole: every kernel and collective of every micro-batch, and no
// more waits than collectives; whoever's they are, a file of at most so many spans is whole.
TEST(Trace, IsSizedByWhatAllMicroBatchesWriteAndSampledFromOneSpanTooMany) {
  const Case c(plain(5, 8));
  std::int64_t kernels = 0, collectives = 0;
  for (const Span& span : c.spans(0, Repeated::all)) {
    if (span.kind == SpanKind::kernel) ++kernels;
    if (span.kind == SpanKind::collective) ++collectives;
  }

  EXPECT_GE(c.detail.span_count(), kernels + collectives);
  EXPECT_LE(c.detail.span_count(), kernels + 2 * collectives);
  const std::int64_t devices = most_spans / c.detail.span_count();
  EXPECT_EQ(repeated_in_trace(c.detail, devices), Repeated::all);
  EXPECT_EQ(repeated_in_trace(c.detail, devices + 1), Repeated::sampled);
}

TEST(Trace, OfALargeModelStaysBelow50MB) {
  Point point;
  point.model = read_model("gpt-320b");
  point.grid = {8, 8, 32, 16};
  point.options.micro_batches = 16;
  const Platform platform = read_platform("frontier");
  const TimedProgram program = lower(point, platform);
  const ProgramDetail detail(point, platform, program);

  const std::vector<Span> spans =
      timeline(estimated_log(program), detail, LoggedRepetitions::all(program),
               repeated_in_trace(detail, 1));
  const std::string text = trace_json({{0, "rank 0", spans}}, detail, "large");

  EXPECT_LT(text.size(), 50'000'000U);
  EXPECT_GT(text.size(), 100'000U);
}

}  // namespace
}  // namespace fourfold::tests
