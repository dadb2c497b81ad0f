// Timelines of every pipeline order beside its chart: kernels lie in the turn of their micro-batch,
// waits end with what they are for, and what a sampled timeline writes is in the whole one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/estimate/estimate.hpp"
#include "sim/explain/order_chart.hpp"
#include "sim/explain/timeline.hpp"
#include "tests/schedule/orders.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t stages = 3;
constexpr std::int64_t micro_batches = 12;

Point point_of(const StepOptions& options, bool cut) {
  Point point;
  point.platform = "crossbar";
  point.model = {"tiny", 7, 1024, 8, 256, 4096};
  point.grid = ProcessGrid(2, 1, 2, 1, stages);
  point.options = options;
  point.options.cut_messages = cut;
  point.global_batch = 2 * micro_batches;
  return point;
}

std::vector<Point> points() {
  std::vector<Point> all;
  for (bool cut : {false, true}) {
    for (PipelineOrder order : {PipelineOrder::one_f_one_b, PipelineOrder::gpipe,
                                PipelineOrder::zero_bubble, PipelineOrder::message_driven}) {
      all.push_back(point_of(with(order, micro_batches), cut));
    }
    all.push_back(point_of(with(PipelineOrder::interleaved, micro_batches, 2), cut));
    for (std::int64_t limit : {1, 2}) {
      StepOptions few = with(PipelineOrder::message_driven, micro_batches);
      few.pipeline_limit = limit;
      all.push_back(point_of(few, cut));
    }
  }
  return all;
}

struct Case {
  explicit Case(Point asked) : point(std::move(asked)) {}

  std::vector<Span> spans(std::int64_t stage, Repeated repeated) const {
    return timeline(estimated_log(program, stage), detail, LoggedRepetitions::all(program),
                    repeated, stage);
  }
  const NamedSection& section_of(const Span& span) const {
    return detail.sections().at(static_cast<std::size_t>(span.section));
  }
  std::string title(std::int64_t stage) const {
    return fmt::format("{}{}, stage {}", name(point.options.order),
                       point.options.cut_messages ? " with cut messages" : "", stage);
  }

  Point point;
  Platform platform = read_platform("crossbar");
  TimedProgram program = lower(point, platform);
  ProgramDetail detail{point, platform, program};
};

TEST(Turns, HaveTheKernelsOfTheirMicroBatch) {
  for (const Point& point : points()) {
    const Case c(point);
    const OrderChart chart = chart_of(point, c.platform);
    for (std::int64_t stage = 0; stage < stages; ++stage) {
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
    for (std::int64_t stage = 0; stage < stages; ++stage) {
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
  for (const Point& point : points()) {
    const Case c(point);
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      const std::vector<Span> all = c.spans(stage, Repeated::all);
      const std::vector<Span> some = c.spans(stage, Repeated::sampled);
      std::size_t next = 0;
      double now = 0.0;
      for (const Span& span : some) {
        if (span.kind != SpanKind::collective) {
          EXPECT_NEAR(span.start.value, now, 1e-9) << c.title(stage);
          now = span.end.value;
        }
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
        const std::int64_t layer = c.section_of(span).layer;
        if (span.kind == SpanKind::kernel && layer >= 0 && span.micro_batch >= 0) {
          written[c.section_of(span).name].insert(span.micro_batch);
        }
      }
      EXPECT_EQ(written.at("forward"), (std::set<std::int64_t>{0, 1, 6, 10, 11})) << c.title(stage);
      EXPECT_EQ(written.at("backward"), (std::set<std::int64_t>{0, 1, 6, 10, 11}))
          << c.title(stage);
    }
  }
}

// A stage of a ready-queue that has nothing to do waits for the message of the turn it does next.
TEST(Turns, OfAReadyQueueWaitForTheirOwnMessages) {
  std::int64_t turned = 0;  // waits before a turn of another part than the turn before
  for (const Point& point : points()) {
    if (point.options.order != PipelineOrder::message_driven) continue;
    const Case c(point);
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      std::string before, messages;
      for (const Span& span : c.spans(stage, Repeated::all)) {
        if (span.kind == SpanKind::collective || c.section_of(span).micro_batch < 0) continue;
        const std::string part = c.section_of(span).name;
        if (span.kind == SpanKind::kernel) {
          if (!messages.empty()) {
            EXPECT_EQ(messages.starts_with("pipe_" + part), true) << c.title(stage) << messages;
            if (part != before) ++turned;
          }
          before = part;
          messages.clear();
        }
        if (span.kind != SpanKind::wait) continue;
        const Channel& channel = c.program.channels[static_cast<std::size_t>(span.channel)];
        if (channel.axis == Axis::pipe && span.section >= 0) messages = name(channel);
      }
    }
  }
  EXPECT_GT(turned, 0);
}

}  // namespace
}  // namespace fourfold::tests
