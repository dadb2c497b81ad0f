// Timelines and traces say what the outcome says, span by span.
#include "sim/explain/timeline.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "schedule/models/model_file.hpp"
#include "sim/cost/lower.hpp"
#include "sim/explain/explanation.hpp"
#include "sim/explain/trace.hpp"

namespace fourfold::tests {
namespace {

Point tiny(std::int64_t layers, const ProcessGrid& grid) {
  Point point;
  point.platform = "crossbar";
  point.model = {"tiny", layers, 256, 8, 64, 512};
  point.grid = grid;
  point.global_batch = 64;
  point.options.micro_batches = 4;
  return point;
}

struct Case {
  explicit Case(Point asked)
      : point(std::move(asked)),
        platform(read_platform(point.platform)),
        program(lower(point, platform)),
        detail(point, platform, program),
        outcome(estimate_step(program)) {}

  std::vector<Span> spans(Repeated repeated) const {
    return timeline(estimated_log(program), detail, LoggedRepetitions::all(program), repeated);
  }

  Point point;
  Platform platform;
  TimedProgram program;
  ProgramDetail detail;
  Outcome outcome;
};

Seconds sum(const std::vector<Span>& spans, SpanKind kind) {
  Seconds sum;
  for (const Span& span : spans) {
    if (span.kind == kind) sum += span.end - span.start;
  }
  return sum;
}

TEST(Timeline, SpansSumToTheOutcome) {
  const Case c(tiny(5, {2, 2, 2, 2}));

  const std::vector<Span> spans = c.spans(Repeated::all);

  EXPECT_NEAR(sum(spans, SpanKind::wait).value, c.outcome.exposed_total().value, 1e-9);
  EXPECT_NEAR((sum(spans, SpanKind::kernel) + sum(spans, SpanKind::interference)).value,
              c.outcome.compute.value, 1e-9);
  Seconds busy;
  for (Seconds channel : c.outcome.busy) busy += channel;
  EXPECT_NEAR(sum(spans, SpanKind::collective).value, busy.value, 1e-9);
  EXPECT_EQ(sum(spans, SpanKind::skipped).value, 0.0);
}

TEST(Timeline, StagesSumToTheOutcome) {
  for (PipelineOrder order :
       {PipelineOrder::gpipe, PipelineOrder::one_f_one_b, PipelineOrder::interleaved,
        PipelineOrder::zero_bubble, PipelineOrder::message_driven}) {
    Point point = tiny(7, {2, 1, 2, 1, 3});
    point.options.order = order;
    point.options.chunks = order == PipelineOrder::interleaved ? 2 : 1;
    point.options.micro_batches = 12;
    point.global_batch = 24;
    const Case c(point);
    Seconds waits, kernels;
    double last = 0.0;
    for (std::int64_t stage = 0; stage < 3; ++stage) {
      double now = 0.0;

      const std::vector<Span> spans =
          timeline(estimated_log(c.program, stage), c.detail, LoggedRepetitions::all(c.program),
                   Repeated::all, stage);

      for (const Span& span : spans) {
        if (span.kind == SpanKind::collective) continue;
        EXPECT_NEAR(span.start.value, now, 1e-9) << name(order);
        now = span.end.value;
        EXPECT_LT(span.micro_batch, 12) << name(order);
      }
      last = std::max(last, now);
      waits += sum(spans, SpanKind::wait);
      kernels += sum(spans, SpanKind::kernel) + sum(spans, SpanKind::interference);
    }
    EXPECT_NEAR(last, c.outcome.total.value, 1e-9) << name(order);
    EXPECT_NEAR(waits.value / 3, c.outcome.exposed_total().value, 1e-9) << name(order);
    EXPECT_NEAR(kernels.value / 3, c.outcome.compute.value, 1e-9) << name(order);
  }
}

// The explanation's closed form and the timeline's kernels are the same work.
TEST(Timeline, KernelsSumToTheExplanation) {
  const Case c(tiny(5, {2, 2, 2, 2}));

  const Explanation explanation = explain_step(c.point, c.platform, std::nullopt);
  const Seconds kernels = sum(c.spans(Repeated::all), SpanKind::kernel);

  Seconds explained;
  for (Seconds work : explanation.kernels) explained += work;
  EXPECT_NEAR(kernels.value, explained.value, 1e-9);
}

TEST(Timeline, ComputeHasNoOverlapAndNoHole) {
  const Case c(tiny(12, {2, 2, 2, 2}));
  for (Repeated repeated : {Repeated::all, Repeated::sampled}) {
    double now = 0.0;
    for (const Span& span : c.spans(repeated)) {
      if (span.kind == SpanKind::collective) continue;
      EXPECT_NEAR(span.start.value, now, 1e-9);
      EXPECT_GE(span.end, span.start);
      now = span.end.value;
    }
    EXPECT_NEAR(now, c.outcome.total.value, 1e-9);
  }
}

TEST(Timeline, SampledLayersKeepTheirTimes) {
  const Case c(tiny(12, {2, 2, 2, 2}));
  const std::vector<Span> all = c.spans(Repeated::all);
  const std::vector<Span> some = c.spans(Repeated::sampled);

  ASSERT_LT(some.size(), all.size());
  std::size_t next = 0;
  for (const Span& span : some) {
    if (span.kind == SpanKind::skipped) continue;
    while (next < all.size() && !(all[next].kind == span.kind && all[next].name == span.name &&
                                  all[next].start == span.start && all[next].end == span.end)) {
      ++next;
    }
    ASSERT_LT(next, all.size()) << "a sampled span that the whole timeline has not";
  }
}

TEST(Timeline, LayersAreNumberedInTheOrderOfThePass) {
  const Case c(tiny(5, {2, 2, 2, 2}));
  std::vector<std::int64_t> forward, backward;
  for (const Span& span : c.spans(Repeated::all)) {
    const NamedSection& section = c.detail.sections().at(static_cast<std::size_t>(span.section));
    if (span.micro_batch != 2 || span.kind != SpanKind::kernel) continue;
    auto& layers = section.name == "forward" ? forward : backward;
    if (section.name != "forward" && section.name != "backward") continue;
    if (layers.empty() || layers.back() != section.layer) layers.push_back(section.layer);
  }
  EXPECT_EQ(forward, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(backward, (std::vector<std::int64_t>{4, 3, 2, 1, 0}));
}

// More micro-batches than are recorded: those of the steady stretch have one section together.
TEST(Timeline, NamesEveryMicroBatch) {
  Point point = tiny(5, {2, 2, 2, 2});
  point.options.micro_batches = 8;
  std::set<std::int64_t> found;

  for (const Span& span : Case(point).spans(Repeated::all)) found.insert(span.micro_batch);

  found.erase(-1);  // what belongs to the step as a whole
  EXPECT_EQ(found, (std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

// Forwards, input gradients and weight gradients of a steady period are of three micro-batches.
TEST(Timeline, NamesTheMicroBatchOfEveryPartOfASplitBackward) {
  Point point = tiny(6, {2, 1, 1, 1, 3});
  point.options.order = PipelineOrder::zero_bubble;
  point.options.micro_batches = 16;
  point.options.cut_messages = true;
  const Case c(point);
  for (std::int64_t stage = 0; stage < 3; ++stage) {
    std::map<std::string, std::vector<std::int64_t>> found;

    for (const Span& span : timeline(estimated_log(c.program, stage), c.detail,
                                     LoggedRepetitions::all(c.program), Repeated::all, stage)) {
      const NamedSection& section = c.detail.sections().at(static_cast<std::size_t>(span.section));
      if (span.kind != SpanKind::kernel || section.layer < 0 || span.micro_batch < 0) continue;
      std::vector<std::int64_t>& micro_batches = found[section.name];
      if (micro_batches.empty() || micro_batches.back() != span.micro_batch) {
        micro_batches.push_back(span.micro_batch);
      }
    }

    std::vector<std::int64_t> all(16);
    std::iota(all.begin(), all.end(), 0);
    for (const char* part : {"forward", "input gradient", "weight gradient"}) {
      EXPECT_EQ(found[part], all) << part << " on stage " << stage;
    }
  }
}

TEST(Timeline, RefusesTheProgramOfAnotherPoint) {
  const Case c(tiny(5, {2, 2, 2, 2}));
  EXPECT_THROW(ProgramDetail(tiny(5, {1, 4, 2, 2}), c.platform, c.program), std::logic_error);
}

TEST(Trace, IsJsonWhoseWaitsSumToWhatIsExposed) {
  const Case c(tiny(5, {2, 2, 2, 2}));

  const nlohmann::json trace = nlohmann::json::parse(
      trace_json({{0, "rank 0", c.spans(Repeated::all)}}, c.detail, "tiny \"quoted\""));

  double waits = 0.0, rounded = 0.0;  // to stamps of an eighth of a microsecond
  std::vector<std::string> threads;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X" && event.at("cat") == "wait") {
      waits += event.at("dur").get<double>();
      rounded += 0.125;
    }
    if (event.at("name") == "thread_name") threads.push_back(event.at("args").at("name"));
  }
  EXPECT_NEAR(waits * 1e-6, c.outcome.exposed_total().value, rounded * 1e-6);
  EXPECT_EQ(threads,
            (std::vector<std::string>{"compute", "x", "y", "z gather", "z reduce", "data"}));
  EXPECT_EQ(trace.at("otherData").at("title"), "tiny \"quoted\"");
}

TEST(Trace, SaysWhetherItIsWhole) {
  const Case c(tiny(12, {2, 2, 2, 2}));
  const auto written = [&](Repeated repeated) -> std::string {
    const std::string text = trace_json({{0, "rank 0", c.spans(repeated)}}, c.detail, "tiny");
    return nlohmann::json::parse(text).at("otherData").at("written");
  };
  EXPECT_EQ(written(Repeated::all), "Every layer and micro-batch is written.");
  EXPECT_NE(written(Repeated::sampled).find("only some are written"), std::string::npos);
}

// What decides whether a trace is whole: every kernel and collective of every micro-batch, and no
// more waits than collectives.
TEST(Trace, IsSizedByWhatAllMicroBatchesWrite) {
  Point point = tiny(5, {2, 2, 2, 2});
  point.options.micro_batches = 8;
  const Case c(point);
  std::int64_t kernels = 0, collectives = 0;
  for (const Span& span : c.spans(Repeated::all)) {
    if (span.kind == SpanKind::kernel) ++kernels;
    if (span.kind == SpanKind::collective) ++collectives;
  }

  EXPECT_GE(c.detail.span_count(), kernels + collectives);
  EXPECT_LE(c.detail.span_count(), kernels + 2 * collectives);
}

TEST(Trace, OfALargeModelStaysBelow50MB) {
  Point point;
  point.platform = "frontier";
  point.model = read_model("gpt-320b");
  point.grid = {8, 8, 32, 16};
  point.options.micro_batches = 16;
  const Case c(point);

  const Repeated repeated = repeated_in_trace(c.detail, 1);
  const std::string text = trace_json({{0, "rank 0", c.spans(repeated)}}, c.detail, "large");

  EXPECT_LT(text.size(), 50'000'000U);
  EXPECT_GT(text.size(), 100'000U);
}

}  // namespace
}  // namespace fourfold::tests
