// The rows of an explanation, counted again from the timed program of all stages; kernels, counted
// again from a timeline; and what a simulation is refused for, or said to be by.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/cost/lower.hpp"
#include "sim/explain/explanation.hpp"
#include "sim/explain/timeline.hpp"
#include "tests/points.hpp"
#include "tests/refusal.hpp"
#include "tests/schedule/orders.hpp"

namespace fourfold::tests {
namespace {

Point point_of(const ProcessGrid& grid, const StepOptions& options) {
  return made_up_point("crossbar", {"tiny", 7, 1024, 8, 256, 4096}, grid,
                       2 * options.micro_batches * grid.extent(Axis::z) * grid.extent(Axis::data),
                       options);
}

std::vector<Point> points() {
  std::vector<Point> all;
  for (const ProcessGrid& grid : {ProcessGrid(2, 2, 2, 2), ProcessGrid(2, 1, 2, 2, 3)}) {
    StepOptions one = with(PipelineOrder::one_f_one_b, 6);
    all.push_back(point_of(grid, one));
    one.data_bucket = 1'000'000;
    one.data_reduction = DataReduction::beside_backward;
    all.push_back(point_of(grid, one));
    one.zero = 2;
    all.push_back(point_of(grid, one));
  }
  all.push_back(point_of(ProcessGrid(2, 1, 2, 2, 3), with(PipelineOrder::interleaved, 6, 2)));
  all.push_back(point_of(ProcessGrid(2, 1, 2, 2, 3), with(PipelineOrder::zero_bubble, 6)));
  return all;
}

// By collective of the program: how often it is posted on the stage that it is of.
std::vector<double> posts_of(const TimedProgram& program) {
  std::vector<double> posts(program.collectives.size(), 0.0);
  for (const RunCycle& cycle : program.cycles) {
    each_run(program, cycle, [&](const StepRun& run) {
      for (std::int32_t s = run.first; s < run.last; ++s) {
        const TimedStep& step = program.steps[static_cast<std::size_t>(s)];
        if (step.kind == StepKind::post) posts[static_cast<std::size_t>(step.collective)] += 1.0;
      }
    });
  }
  return posts;
}

using Row = std::tuple<ChannelNumber, CollectiveKind, double, double>;  // seconds alone, bytes sent

struct Sums {
  double posts = 0.0;
  double flown = 0.0;
  double longest = 0.0;
};

// Flights of made-up lengths, another one for each collective.
TEST(Rows, AreThePostsOfAllStages) {
  for (const Point& point : points()) {
    const Platform platform = read_platform(point.platform);
    const TimedProgram program = lower(point, platform);
    const auto stages = static_cast<double>(point.grid.extent(Axis::pipe));
    const std::vector<double> posts = posts_of(program);
    Simulated simulated{estimate_step(point, platform).outcome, ReplayDetail{}, {}};
    std::map<Row, Sums> expected;
    for (std::size_t c = 0; c < program.collectives.size(); ++c) {
      const TimedCollective& one = program.collectives[c];
      const double mean = 1.0 + std::sqrt(static_cast<double>(c));
      const double longest = 10.0 + static_cast<double>(c * 7 % 5);
      simulated.detail->flights.push_back({{mean}, {longest}});
      const Channel& channel = program.channels[static_cast<std::size_t>(one.channel)];
      if (posts[c] == 0.0 || members(channel, point.grid) == 1) continue;
      Sums& sums = expected[{one.channel, one.kind, one.uncontended.value, one.cost.work.value}];
      sums.posts += posts[c];
      sums.flown += posts[c] * mean;
      sums.longest = std::max(sums.longest, longest);
    }

    const Explanation found = explain_step(point, platform, simulated);

    const std::string title = point.grid.str() + ", " + name(point.options.order);
    if (stages > 1) {
      EXPECT_EQ(found.collectives.size(), expected.size()) << title;
    }
    std::map<Row, Sums> seen;
    for (const CollectiveUse& use : found.collectives) {
      const auto row = std::ranges::find_if(expected, [&](const auto& one) {
        const auto& [channel, kind, seconds, sent] = one.first;
        return channel == use.channel && kind == use.kind && seconds == use.each.value &&
               !seen.contains(one.first) &&
               (stages == 1 ||
                std::abs(one.second.flown / one.second.posts - use.flown->mean.value) < 1e-9);
      });
      ASSERT_NE(row, expected.end()) << title;
      if (stages == 1) continue;  // where equal collectives keep rows of their own
      seen[row->first] = row->second;
      EXPECT_NEAR(use.count, row->second.posts / stages, 1e-6) << title;
      EXPECT_EQ(use.flown->longest.value, row->second.longest) << title;
      EXPECT_NEAR(use.flown_bus_bandwidth.value * use.flown->mean.value,
                  use.bus_bandwidth.value * use.each.value, 1e-6 * use.buffer.value);
    }
    std::vector<double> latency(program.channels.size()), sent(program.channels.size());
    for (std::size_t c = 0; c < posts.size(); ++c) {
      const TimedCollective& one = program.collectives[c];
      latency[static_cast<std::size_t>(one.channel)] += posts[c] * one.cost.delay.value / stages;
      sent[static_cast<std::size_t>(one.channel)] += posts[c] * one.cost.work.value / stages;
    }
    for (std::size_t c = 0; c < sent.size(); ++c) {
      if (program.channels[c].axis == Axis::pipe) continue;  // who receives sends nothing
      EXPECT_NEAR(found.channels[c].latency.value, latency[c], 1e-12) << title;
      EXPECT_NEAR(found.channels[c].sent.value, sent[c], 1e-9 * sent[c]) << title;
    }
    for (std::size_t i = 1; i < found.collectives.size(); ++i) {
      EXPECT_GE(found.collectives[i - 1].all(), found.collectives[i].all()) << title;
    }
  }
}

// On nodes that slow down the fuller a job is, and devices that differ: kernels, with what the
// slowest device takes beyond the median one, are the kernels of a timeline, on the mean stage.
TEST(Rows, OfKernelsAreThoseOfTheTimeline) {
  Platform platform = read_platform("crossbar");
  platform.processor.interference = 0.0;
  platform.library.interference = 0.0;
  platform.processor.spread = 0.03;
  platform.node.crowding = {{2, 1.25}, {6, 1.5}, {12, 2.0}, {1000, 3.0}};
  for (const Point& point : points()) {
    const TimedProgram program = lower(point, platform);
    const ProgramDetail detail(point, platform, program);
    const std::int64_t stages = point.grid.extent(Axis::pipe);
    double in_timeline = 0.0;
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      for (const Span& span : timeline(estimated_log(program, stage), detail,
                                       LoggedRepetitions::all(program), Repeated::all, stage)) {
        if (span.kind == SpanKind::kernel) in_timeline += (span.end - span.start).value;
      }
    }

    const Explanation found = explain_step(point, platform, std::nullopt);

    double kernels = found.slowest.value;
    for (Seconds one : found.kernels) kernels += one.value;
    const double total = found.outcome.total.value;
    EXPECT_NEAR(kernels, in_timeline / static_cast<double>(stages), 1e-9 * total);
    EXPECT_NEAR(kernels, found.outcome.compute.value, 1e-9 * total);
    EXPECT_NEAR(found.interference.value, 0.0, 1e-9 * total);
    EXPECT_GT(found.slowest.value, 0.0);
  }
}

TEST(Simulations, OfOtherChannelsAreRefused) {
  const Point point = point_of({2, 2, 2, 2}, {});
  const Platform platform = read_platform("crossbar");
  const auto said = [&](const Outcome& outcome) {
    return refusal<std::runtime_error>([&] {
      explain_step(point, platform, Simulated{outcome, {}, {}});
    });
  };
  Outcome outcome = estimate_step(point, platform).outcome;
  const std::string sentence = "The simulated step has other channels than the point.";

  EXPECT_EQ(said(outcome), "accepted");
  std::swap(outcome.channels.front(), outcome.channels.back());
  EXPECT_EQ(said(outcome), sentence);
  outcome.channels.pop_back();
  outcome.exposed.pop_back();
  outcome.busy.pop_back();
  EXPECT_EQ(said(outcome), sentence);
}

std::string text_of(const std::vector<Ideal>& ideals) {
  std::string text;
  for (const Ideal& one : ideals) {
    text += fmt::format("{}: {}, {}{}\n", one.key, one.name, one.by,
                        one.key == "jitter" ? fmt::format(", {} s", one.time.value) : "");
  }
  return text;
}

// Who found an ideal out: a simulation again where it was asked, and in its own words.
TEST(Simulations, SayWhoFoundEachIdealOut) {
  const Point point = point_of({2, 2, 2, 2}, {});
  const Platform platform = read_platform("crossbar");
  Simulated simulated{estimate_step(point, platform).outcome, {}, {}};

  EXPECT_EQ(text_of(explain_step(point, platform, std::nullopt).ideals),
            "network: a network that takes no time (nor computing units), closed form\n"
            "overlap: perfect overlap: the busiest of compute and the lanes, bound\n"
            "gemm_empirical: matrix products at the empirical peak, closed form\n"
            "gemm_advertised: matrix products at the advertised peak, closed form\n");
  simulated.reruns = {{"jitter", "no jitter", {0.5}, "simulation"},
                      {"gemm_empirical", "anew", {0.25}, "simulation"}};
  EXPECT_EQ(text_of(explain_step(point, platform, simulated).ideals),
            "network: a network that takes no time (nor computing units), closed form's ratio\n"
            "overlap: perfect overlap: the busiest of compute and the lanes, bound\n"
            "gemm_empirical: anew, simulation\n"
            "gemm_advertised: matrix products at the advertised peak, closed form's ratio\n"
            "jitter: no jitter, simulation, 0.5 s\n");
}

// Without a detail what is waited for beyond what is in flight is for later devices.
TEST(Simulations, WithoutDetailWaitForOthersWhatIsNotInFlight) {
  const Point point = point_of({2, 2, 2, 2}, {});
  const Platform platform = read_platform("crossbar");
  Simulated simulated{estimate_step(point, platform).outcome, {}, {}};
  simulated.outcome.busy[0] = {2.0};
  simulated.outcome.exposed[0] = {5.0};
  simulated.outcome.busy[1] = {5.0};
  simulated.outcome.exposed[1] = {2.0};

  const Explanation found = explain_step(point, platform, simulated);

  EXPECT_EQ(found.channels[0].waiting.value, 3.0);
  EXPECT_EQ(found.channels[0].hidden.value, 0.0);
  EXPECT_EQ(found.channels[1].waiting.value, 0.0);
  EXPECT_EQ(found.channels[1].hidden.value, 3.0);
}

}  // namespace
}  // namespace fourfold::tests
