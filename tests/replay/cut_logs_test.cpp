// Timelines of logs that are cut short, span by span beside those of whole logs: what is written
// lies where it does in the whole one, and what is left out is said to be of the loop it is of.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/cost/protocol.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/timeline.hpp"
#include "sim/explain/trace.hpp"
#include "sim/replay/replay.hpp"
#include "tests/points.hpp"
#include "tests/sim/spans.hpp"

namespace fourfold::tests {
namespace {

Point point_of(const ProcessGrid& grid, std::int64_t layers, const StepOptions& options) {
  return made_up_point("crossbar", {"tiny", layers, 1024, 8, 256, 4096}, grid,
                       2 * options.micro_batches * grid.extent(Axis::z) * grid.extent(Axis::data),
                       options);
}

struct Job {
  explicit Job(Point asked) : point(std::move(asked)) {}

  Point point;
  Platform platform = read_platform("crossbar");
  TimedProgram program = lower(point, platform);
  ProgramDetail detail{point, platform, program};
};

// Loops over layers, over micro-batches, over both, and none that is cut.
std::vector<StepOptions> option_sets() {
  std::vector<StepOptions> sets;
  for (std::int64_t micro_batches : {1, 2, 3, 9}) {
    StepOptions& plain = sets.emplace_back();
    plain.micro_batches = micro_batches;
    StepOptions& bare = sets.emplace_back(plain);
    bare.overlap = {false, false, false, false, false, false};
    bare.gradient_reduction = GradientReduction::accumulated;
    bare.weight_gather = WeightGather::keep;
  }
  return sets;
}

ReplayDetail detail_of(const Job& job, ReplayExtent extent, std::vector<double> factors = {}) {
  ReplayOptions options;
  options.compute_factors = std::move(factors);
  options.extent = extent;
  options.detail = DetailWanted::timeline;
  return *replay_step(job.program, job.point.grid, job.platform, options).detail;
}

std::vector<Span> spans_of(const Job& job, const ReplayDetail& told, std::size_t device,
                           Repeated repeated) {
  return timeline(told.timelines.at(device).log, job.detail, told.logged, repeated);
}

using Place =
    std::tuple<SpanKind, ChannelNumber, std::int32_t, std::int32_t, std::int64_t, std::int32_t>;

Place place_of(const Span& span) {
  return {span.kind, span.channel, span.name, span.section, span.micro_batch, span.collective};
}

// Every span of `some` but gaps is one of `all`, at the same time to within `tolerance`.
void expect_among(const std::vector<Span>& some, const std::vector<Span>& all, double tolerance,
                  const std::string& what) {
  std::map<Place, std::vector<Span>> known;
  for (const Span& span : all) known[place_of(span)].push_back(span);
  std::int64_t strange = 0;
  for (const Span& span : some) {
    if (span.kind == SpanKind::skipped) continue;
    const std::vector<Span>& same = known[place_of(span)];
    const bool found = std::ranges::any_of(same, [&](const Span& one) {
      return std::abs(one.start.value - span.start.value) <= tolerance &&
             std::abs(one.end.value - span.end.value) <= tolerance;
    });
    if (!found) ++strange;
  }
  EXPECT_EQ(strange, 0) << what << ": of " << some.size() << " spans";
}

TEST(CutLogs, SpansLieWhereTheyDoInWholeLogs) {
  std::int64_t cut_in_both = 0;
  for (const StepOptions& options : option_sets()) {
    for (std::int64_t layers : {3, 14}) {
      const Job job(point_of({2, 2, 2, 2}, layers, options));
      const ReplayDetail whole = detail_of(job, ReplayExtent::full);
      const ReplayDetail cut = detail_of(job, ReplayExtent::extrapolated);
      const double end = whole.timelines[0].log.end;
      const auto full = LoggedRepetitions::all(job.program);
      if (cut.logged.runs != full.runs && cut.logged.cycles != full.cycles) ++cut_in_both;
      for (std::size_t device : {0, 1, 2}) {
        const std::vector<Span> all = spans_of(job, whole, device, Repeated::all);
        for (Repeated repeated : {Repeated::all, Repeated::sampled}) {
          const std::string what = fmt::format("{} micro-batches, {} layers, device {}",
                                               options.micro_batches, layers, device);
          const std::vector<Span> some = spans_of(job, cut, device, repeated);
          expect_among(some, all, 1e-7 * end, what);
          EXPECT_NEAR(expect_whole(some, 1e-9 * end, what), end, 1e-7 * end) << what;
        }
      }
    }
  }
  EXPECT_GT(cut_in_both, 1);
}

// A gap of layers stands between two layers of one pass, and says which.
TEST(CutLogs, GapsAreOfTheSectionTheyStandIn) {
  for (const StepOptions& options : option_sets()) {
    const Job job(point_of({2, 2, 2, 2}, 14, options));
    const ReplayDetail cut = detail_of(job, ReplayExtent::extrapolated);
    const auto name_of = [&](const Span& span) { return section_of(span, job.detail).name; };
    std::string before;
    std::int64_t gaps = 0;

    for (const Span& span : spans_of(job, cut, 0, Repeated::all)) {
      if (span.kind == SpanKind::kernel) before = name_of(span);
      if (span.kind != SpanKind::skipped) continue;
      ++gaps;
      EXPECT_EQ(name_of(span), before);
      EXPECT_EQ(span.micro_batch, -1);
    }

    EXPECT_GT(gaps, 1);
  }
}

// Turns of several chunks: every layer of every micro-batch is there, once forward.
TEST(Timelines, NameTheLayersOfEveryRoundOfAnInterleavedOrder) {
  StepOptions options;
  options.order = PipelineOrder::interleaved;
  options.chunks = 2;
  options.micro_batches = 12;
  constexpr std::int64_t stages = 3, layers = 18;
  const Job job(point_of(ProcessGrid(1, 1, 1, 1, stages), layers, options));
  const ReplayDetail whole = detail_of(job, ReplayExtent::full);

  for (std::size_t stage = 0; stage < stages; ++stage) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> sections;
    const DeviceLog& log = whole.timelines.at(stage).log;
    for (const Span& span : timeline(log, job.detail, whole.logged, Repeated::all, stage)) {
      if (span.kind != SpanKind::kernel) continue;
      const NamedSection& section = section_of(span, job.detail);
      if (section.name == "forward" && section.layer >= 0) {
        ++sections[{section.layer, span.micro_batch}];
      }
    }
    std::set<std::int64_t> of_layer, of_micro_batch, times;
    for (const auto& [place, kernels] : sections) {
      of_layer.insert(place.first);
      of_micro_batch.insert(place.second);
      times.insert(kernels);
    }
    EXPECT_EQ(of_layer.size(), layers / stages);
    EXPECT_EQ(of_micro_batch.size(), options.micro_batches);
    EXPECT_EQ(*of_micro_batch.begin(), 0);
    EXPECT_EQ(sections.size(), layers / stages * options.micro_batches);
    EXPECT_EQ(times.size(), 1U) << "some layer has more kernels than others";
  }
}

// Which of a loop's repetitions a sampled timeline writes: the first two, a middle one, the last
// two.
TEST(CutLogs, SampledTimelinesWriteTheFirstTheMiddleAndTheLast) {
  const Job job(point_of({2, 2, 2, 2}, 14, with_micro_batches(9)));
  const ReplayDetail whole = detail_of(job, ReplayExtent::full);
  std::map<std::string, std::set<std::int64_t>> layers;
  std::set<std::int64_t> micro_batches;

  for (const Span& span : spans_of(job, whole, 0, Repeated::sampled)) {
    const NamedSection& section = section_of(span, job.detail);
    if (span.kind != SpanKind::kernel || span.micro_batch < 0) continue;
    micro_batches.insert(span.micro_batch);
    if (section.layer >= 0) layers[section.name].insert(section.layer);
  }

  EXPECT_TRUE(std::ranges::includes(micro_batches, std::set<std::int64_t>{0, 1, 8}));
  EXPECT_LT(micro_batches.size(), 9U);
  for (const auto& [section, written] : layers) {
    EXPECT_TRUE(std::ranges::includes(written, std::set<std::int64_t>{0, 1, 12, 13})) << section;
    EXPECT_LT(written.size(), 10U) << section;
  }
}

// Event by event, what a trace says of each span, on devices of which only one is cut.
TEST(CutLogs, TracesSayOfEverySpanWhatItIs) {
  const Job job(point_of({2, 2, 2, 2}, 14, with_micro_batches(9)));
  const ReplayDetail whole = detail_of(job, ReplayExtent::full);
  const ReplayDetail cut = detail_of(job, ReplayExtent::extrapolated);
  const std::vector<TracedDevice> devices{{4, "whole", spans_of(job, whole, 0, Repeated::all)},
                                          {9, "cut", spans_of(job, cut, 1, Repeated::all)}};

  const auto trace = nlohmann::json::parse(trace_json(devices, job.detail, "two"));

  EXPECT_NE(trace.at("otherData").at("written").get<std::string>().find("only some"),
            std::string::npos);
  std::vector<nlohmann::json> events;
  std::map<std::int64_t, std::string> roles;
  std::map<std::int64_t, std::int64_t> threads;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") events.push_back(event);
    if (event.at("name") == "process_name") roles[event.at("pid")] = event.at("args").at("name");
    if (event.at("name") == "thread_name") ++threads[event.at("pid")];
  }
  EXPECT_EQ(roles, (std::map<std::int64_t, std::string>{{4, "whole"}, {9, "cut"}}));
  EXPECT_EQ(threads[9], std::ssize(job.program.channels) + 1);
  std::size_t next = 0;
  for (const TracedDevice& device : devices) {
    for (const Span& span : device.spans) {
      ASSERT_LT(next, events.size());
      const nlohmann::json& event = events[next++];
      const NamedSection& section = section_of(span, job.detail);
      const bool skipped = span.kind == SpanKind::skipped;
      const bool collective = span.kind == SpanKind::collective;
      const nlohmann::json& arguments = event.at("args");
      ASSERT_EQ(event.at("pid"), device.rank);
      ASSERT_EQ(event.at("tid"), collective ? span.channel + 1 : 0);
      ASSERT_EQ(event.at("cat"), name(span.kind));
      ASSERT_NEAR(event.at("ts").get<double>(), span.start.value * 1e6, 0.0626);
      ASSERT_NEAR(event.at("dur").get<double>(), (span.end - span.start).value * 1e6, 0.126);
      ASSERT_EQ(arguments.at("section"), section.name);
      ASSERT_EQ(arguments.value("layer", std::int64_t{-1}), skipped ? -1 : section.layer);
      ASSERT_EQ(arguments.value("micro_batch", std::int64_t{-1}), span.micro_batch);
      ASSERT_EQ(arguments.contains("algorithm"), collective);
      std::string title = "repetitions that are alike, not written";
      if (span.kind == SpanKind::interference) title = "interference of a collective";
      if (span.kind == SpanKind::wait) {
        std::string channel = name(job.program.channels[static_cast<std::size_t>(span.channel)]);
        std::ranges::replace(channel, '_', ' ');
        title = "wait for " + channel;
      }
      if (span.name >= 0) title = job.detail.names()[static_cast<std::size_t>(span.name)];
      ASSERT_EQ(event.at("name"), title);
      if (!collective) continue;
      const TimedCollective& timed =
          job.program.collectives[static_cast<std::size_t>(span.collective)];
      ASSERT_EQ(timed.channel, span.channel);
      ASSERT_EQ(arguments.at("algorithm"), name(timed.algorithm));
      ASSERT_EQ(arguments.at("protocol"), name(timed.protocol));
      ASSERT_NEAR(arguments.at("sent_B").get<double>(), timed.cost.work.value, 0.51);
    }
  }
  EXPECT_EQ(next, events.size());
}

// A device that chooses its turns waits for the message of the turn that it does next.
TEST(ChosenTurns, WaitForTheirOwnMessages) {
  std::int64_t turned = 0;
  for (std::size_t slow : {0, 1, 2}) {  // stage
    StepOptions options;
    options.order = PipelineOrder::message_driven;
    options.micro_batches = 12;
    const Job job(point_of({2, 1, 2, 1, 3}, 7, options));
    std::vector<double> factors(12, 1.0);
    for (std::size_t i = 0; i < 4; ++i) factors[4 * slow + i] = 2.5;
    const ReplayDetail told = detail_of(job, ReplayExtent::full, factors);
    for (const DeviceTimeline& device : told.timelines) {
      const std::int64_t stage = job.point.grid.coordinate(device.rank, Axis::pipe);
      turned +=
          expect_own_messages(timeline(device.log, job.detail, told.logged, Repeated::all, stage),
                              job.detail, std::to_string(device.rank));
    }
  }
  EXPECT_GT(turned, 0);
}

}  // namespace
}  // namespace fourfold::tests
