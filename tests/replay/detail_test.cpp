// What a replay says beyond its outcome: links carry what the counted rung counts, waits and
// classes sum to the outcome, and timelines of logged devices are whole, whether loops are cut or
// not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/conditions/conditions.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/ideal.hpp"
#include "sim/question/replay_answer.hpp"
#include "sim/question/replay_detail.hpp"
#include "sim/replay/replay.hpp"

namespace fourfold::tests {
namespace {

Point tiny(const std::string& platform, const ProcessGrid& grid, std::int64_t layers = 4) {
  Point point;
  point.platform = platform;
  point.model = {"tiny", layers, 1024, 8, 256, 4096};
  point.grid = grid;
  point.global_batch = 64;
  point.options.micro_batches = 4;
  return point;
}

struct Case {
  explicit Case(Point asked)
      : point(std::move(asked)),
        platform(read_platform(point.platform)),
        program(lower(point, platform)) {}

  Replay run(ReplayExtent extent, IdealPart ideal = IdealPart::none) const {
    ReplayOptions options;
    options.extent = extent;
    options.detail = DetailWanted::timeline;
    options.mapping = mapping_of(point, platform);
    options.compute_factors = compute_factors(point, options.mapping);
    options.jitter = jitter_of(point.what_ifs);
    return replay_step(lower(point, platform, ideal), point.grid, platform, options);
  }

  Point point;
  Platform platform;
  TimedProgram program;
};

// Flags of the low-latency protocol double what the counted rung counts.
double counted_bytes(const Case& c) {
  const Counts counts = estimate_step(c.point, c.platform).counts;
  double bytes = 0.0;
  for (Bytes sent : counts.sent) bytes += sent.value;
  for (const RunCycle& cycle : c.program.cycles) {
    for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
      const StepRun& run = c.program.runs[static_cast<std::size_t>(r)];
      for (std::int32_t s = run.first; s < run.last; ++s) {
        const TimedStep& step = c.program.steps[static_cast<std::size_t>(s)];
        if (step.kind != StepKind::post) continue;
        const auto& one = c.program.collectives[static_cast<std::size_t>(step.collective)];
        if (one.protocol != WireProtocol::low_latency) continue;
        bytes += one.cost.work.value / 2 * static_cast<double>(run.repeats * cycle.repeats);
      }
    }
  }
  return bytes;
}

TEST(Links, CarryWhatTheCountedRungSays) {
  const Case c(tiny("crossbar", {2, 2, 2, 2}));

  const Replay result = c.run(ReplayExtent::extrapolated);

  double carried = 0.0;
  for (const LinkUse& use : result.detail->links) carried += use.bytes.value;
  // Every byte leaves through one port and enters through another.
  const double expected = 2.0 * counted_bytes(c) * static_cast<double>(c.point.grid.size());
  EXPECT_NEAR(carried, expected, 1e-9 * expected);
}

TEST(Links, AreNeverFullerThanFull) {
  for (const char* platform : {"crossbar-shared", "frontier", "perlmutter", "dgx-h100"}) {
    for (const ProcessGrid& grid : {ProcessGrid(2, 2, 4, 4), ProcessGrid(8, 1, 2, 4)}) {
      Point point = tiny(platform, grid);
      point.model.hidden = 4096;
      const Case c(point);

      const Replay result = c.run(ReplayExtent::full);

      ASSERT_FALSE(result.detail->links.empty());
      for (const LinkUse& use : result.detail->links) {
        EXPECT_LE(use.busiest_utilisation, 1.0 + 1e-9) << platform << " " << use.busiest;
        EXPECT_LE(use.mean_utilisation, use.busiest_utilisation + 1e-12);
        EXPECT_GT(use.mean_utilisation, 0.0);
      }
    }
  }
}

TEST(Links, OfFrontierAreCalledAsPeopleCallThem) {
  const Case c(tiny("frontier", {8, 1, 4, 4}));
  std::map<std::string, std::int64_t> links;
  const Replay result = c.run(ReplayExtent::extrapolated);
  for (const LinkUse& use : result.detail->links) {
    links[use.link_class] += use.links;
  }
  EXPECT_TRUE(links.contains("in-package x4"));
  EXPECT_TRUE(links.contains("x1"));
  EXPECT_EQ(links["NIC"], 16 * 4 * 2);  // 16 nodes, 4 NICs, both directions
}

std::vector<Case> uneven_cases() {
  std::vector<Case> cases;
  Point slow = tiny("frontier", {2, 2, 2, 4}, 12);
  slow.what_ifs.slow_devices = {1, {}, 0.5, 0.0, {}};
  cases.emplace_back(slow);
  Point jittered = tiny("frontier", {2, 2, 2, 4}, 6);
  jittered.what_ifs.jitter_percent = 5.0;
  cases.emplace_back(jittered);
  cases.emplace_back(tiny("crossbar", {2, 2, 2, 2}, 12));
  return cases;
}

TEST(Classes, SumToTheOutcome) {
  for (const Case& c : uneven_cases()) {
    const Replay result = c.run(ReplayExtent::extrapolated);

    Seconds compute;
    const std::size_t channels = result.outcome.channels.size();
    std::vector<Seconds> exposed(channels);
    for (const ClassUse& use : result.detail->classes) {
      const double share =
          static_cast<double>(use.devices) / static_cast<double>(c.point.grid.size());
      compute += use.compute * share;
      for (std::size_t c = 0; c < channels; ++c) {
        exposed[c] += use.exposed[c] * share;
        EXPECT_LE(use.late[c], use.exposed[c] * (1 + 1e-9));
        EXPECT_GE(use.late[c].value, 0.0);
      }
    }
    EXPECT_NEAR(compute.value, result.outcome.compute.value, 1e-9);
    for (std::size_t c = 0; c < channels; ++c) {
      EXPECT_NEAR(exposed[c].value, result.outcome.exposed[c].value, 1e-9);
    }
  }
}

// Gradients of many layers are posted at once along data, and only the last one is waited for.
TEST(Classes, DevicesThatAreAlikeWaitForNobodyHoweverMuchTheyPost) {
  const Replay result = Case(tiny("crossbar", {2, 2, 2, 4}, 24)).run(ReplayExtent::full);

  ASSERT_GT(result.outcome.exposed_along(Axis::data).value, 0.0);
  for (const ClassUse& use : result.detail->classes) {
    for (Seconds late : use.late) EXPECT_NEAR(late.value, 0.0, 1e-12) << use.name;
  }
}

TEST(Classes, AllWaitForTheSlowDeviceAndItForNobody) {
  Point point = tiny("crossbar", {2, 2, 2, 4});
  point.what_ifs.slow_devices = {1, {}, 0.1, 0.0, {}};
  const Replay result = Case(point).run(ReplayExtent::full);

  const std::vector<ClassUse>& classes = result.detail->classes;
  ASSERT_EQ(classes.size(), 6U);  // itself, x, y, z, data and the others
  const auto late = [](const ClassUse& use) {
    Seconds sum;
    for (Seconds late : use.late) sum += late;
    return sum;
  };
  EXPECT_EQ(classes[0].name, "the slow device");
  for (std::size_t c = 1; c < classes.size(); ++c) {
    EXPECT_GT(late(classes[c]).value, late(classes[0]).value * 5.0) << classes[c].name;
    EXPECT_GT(late(classes[c]).value * 2.0, (classes[0].compute - classes[c].compute).value)
        << classes[c].name;
  }
  EXPECT_EQ(result.detail->latecomers.front().rank, 16);
  EXPECT_EQ(result.detail->longest_compute, classes[0].compute);
}

TEST(Flights, AloneOnPrivatePortsTakeWhatTheClosedFormSays) {
  const Case c(tiny("crossbar", {2, 2, 2, 2}));
  const Replay result = c.run(ReplayExtent::full);
  for (std::size_t i = 0; i < result.detail->flights.size(); ++i) {
    const double expected = c.program.collectives[i].uncontended.value;
    EXPECT_NEAR(result.detail->flights[i].mean.value, expected, 1e-9 * expected + 1e-15);
    EXPECT_NEAR(result.detail->flights[i].longest.value, expected, 1e-9 * expected + 1e-15);
  }
}

// And, where kernels vary, for the last of a group.
TEST(IdealNetwork, StillWaitsForTheSlowDevice) {
  Case c = uneven_cases().front();
  const Replay varied = c.run(ReplayExtent::full, IdealPart::network);
  EXPECT_GT(varied.outcome.total, varied.detail->longest_compute);
  c.platform.processor.repetition_spread = 0.0;
  const Replay ideal = c.run(ReplayExtent::full, IdealPart::network);
  EXPECT_NEAR(ideal.outcome.total.value, ideal.detail->longest_compute.value, 1e-9);
  for (Seconds busy : ideal.outcome.busy) EXPECT_EQ(busy.value, 0.0);
}

// Device by device: no hole, no overlap, kernels and waits as summed, and the true end.
TEST(Timelines, OfReplaysAreWhole) {
  for (const Case& c : uneven_cases()) {
    const ProgramDetail detail(c.point, c.platform, c.program);
    for (ReplayExtent extent : {ReplayExtent::extrapolated, ReplayExtent::full}) {
      const Replay result = c.run(extent);
      for (const DeviceTimeline& one : result.detail->timelines) {
        for (Repeated repeated : {Repeated::all, Repeated::sampled}) {
          double now = 0.0;
          for (const Span& span : timeline(one.log, detail, result.detail->logged, repeated)) {
            if (span.kind == SpanKind::collective) continue;
            EXPECT_NEAR(span.start.value, now, 1e-9) << one.name;
            EXPECT_GE(span.end.value, span.start.value - 1e-12);
            now = span.end.value;
          }
          EXPECT_LE(now, result.outcome.total.value * (1 + 1e-6));
          EXPECT_GE(now, result.outcome.total.value * 0.8) << one.name;
        }
      }
    }
  }
}

TEST(Timelines, OfEveryStageAreWhole) {
  for (PipelineOrder order :
       {PipelineOrder::gpipe, PipelineOrder::one_f_one_b, PipelineOrder::interleaved,
        PipelineOrder::zero_bubble, PipelineOrder::message_driven}) {
    Point point = tiny("frontier", {2, 1, 2, 1, 3}, 8);
    point.options.order = order;
    point.options.chunks = order == PipelineOrder::interleaved ? 2 : 1;
    point.options.micro_batches = 36;
    point.global_batch = 72;
    const Case c(point);
    const ProgramDetail detail(c.point, c.platform, c.program);
    for (ReplayExtent extent : {ReplayExtent::extrapolated, ReplayExtent::full}) {
      const Replay result = c.run(extent);
      std::set<std::int64_t> stages;
      for (const DeviceTimeline& one : result.detail->timelines) {
        const std::int64_t stage = c.point.grid.coordinate(one.rank, Axis::pipe);
        stages.insert(stage);
        double now = 0.0;
        for (const Span& span :
             timeline(one.log, detail, result.detail->logged, Repeated::all, stage)) {
          if (span.kind == SpanKind::collective) continue;
          EXPECT_NEAR(span.start.value, now, 1e-9) << one.rank;
          now = span.end.value;
        }
        EXPECT_LE(now, result.outcome.total.value * (1 + 1e-6));
        EXPECT_GE(now, result.outcome.total.value * 0.8) << one.rank;
      }
      EXPECT_EQ(stages.size(), 3U);
    }
  }
}

TEST(Timelines, OfASlowDeviceHaveItsKernelsTwiceAsLong) {
  Case c = uneven_cases().front();
  for (double interference : {0.0, 0.159, 0.4}) {
    c.platform.processor.interference = interference;
    c.program = lower(c.point, c.platform);
    const ProgramDetail detail(c.point, c.platform, c.program);
    for (ReplayExtent extent : {ReplayExtent::extrapolated, ReplayExtent::full}) {
      const Replay result = c.run(extent);
      std::map<std::string, double> sums;
      for (const DeviceTimeline& one : result.detail->timelines) {
        for (const Span& span : timeline(one.log, detail, result.detail->logged, Repeated::all)) {
          if (span.kind == SpanKind::kernel) sums[one.name] += (span.end - span.start).value;
        }
      }
      EXPECT_NEAR(sums.at("the slow device"), 2.0 * sums.at("all others"),
                  1e-6 * sums.at("the slow device"))
          << interference;
    }
  }
}

TEST(Timelines, OfCutLoopsSayWhatTheWholeOnesSay) {
  const Case c(tiny("crossbar", {2, 2, 2, 2}, 12));
  const ProgramDetail detail(c.point, c.platform, c.program);
  const auto end = [&](ReplayExtent extent) {
    const Replay result = c.run(extent);
    EXPECT_EQ(result.extrapolated, extent == ReplayExtent::extrapolated);
    const DeviceTimeline& one = result.detail->timelines.front();
    std::map<SpanKind, double> seconds;
    for (const Span& span : timeline(one.log, detail, result.detail->logged, Repeated::all)) {
      seconds[span.kind] += (span.end - span.start).value;
    }
    return seconds;
  };
  auto cut = end(ReplayExtent::extrapolated);
  auto whole = end(ReplayExtent::full);
  EXPECT_EQ(whole[SpanKind::skipped], 0.0);
  EXPECT_GT(cut[SpanKind::skipped], 0.0);
  const auto sum = [](const std::map<SpanKind, double>& seconds) {
    double sum = 0.0;
    for (const auto& [kind, time] : seconds) {
      if (kind != SpanKind::collective) sum += time;
    }
    return sum;
  };
  EXPECT_NEAR(sum(cut), sum(whole), 1e-6 * sum(whole));
}

TEST(Timelines, OfCutLoopsPutKernelsWhereTheWholeOnesDo) {
  const Case c(tiny("crossbar", {2, 2, 2, 2}, 12));
  const ProgramDetail detail(c.point, c.platform, c.program);
  const auto places = [&](ReplayExtent extent) {
    const ReplayDetail told = *c.run(extent).detail;
    std::set<std::pair<std::int32_t, std::int32_t>> found;  // section and kernel
    for (const Span& span : timeline(told.timelines[0].log, detail, told.logged, Repeated::all)) {
      if (span.kind == SpanKind::kernel) found.emplace(span.section, span.name);
    }
    return found;
  };

  EXPECT_TRUE(
      std::ranges::includes(places(ReplayExtent::full), places(ReplayExtent::extrapolated)));
}

TEST(ReplayDetail, SurvivesJson) {
  ReplayAnswer answer;
  const Replay result = uneven_cases().front().run(ReplayExtent::extrapolated);
  answer.outcome = result.outcome;
  answer.detail = result.detail;

  const ReplayAnswer again = replay_answer_from_json(to_json(answer));

  EXPECT_EQ(to_json(again), to_json(answer));
  EXPECT_EQ(again.detail->timelines.size(), result.detail->timelines.size());
  ASSERT_EQ(again.detail->flights.size(), result.detail->flights.size());
  for (std::size_t i = 0; i < again.detail->flights.size(); ++i) {
    EXPECT_EQ(again.detail->flights[i].mean, result.detail->flights[i].mean);
    EXPECT_EQ(again.detail->flights[i].longest, result.detail->flights[i].longest);
  }
}

TEST(Replay, SaysHowMuchIsDone) {
  Point point = tiny("frontier", {4, 4, 4, 4}, 12);
  point.what_ifs.jitter_percent = 2.0;
  const Case c(point);
  ReplayOptions options;
  options.jitter = jitter_of(point.what_ifs);
  std::vector<double> said;
  options.progress = [&](double done) { said.push_back(done); };

  replay_step(c.program, point.grid, c.platform, options);

  ASSERT_GT(said.size(), 3U);
  EXPECT_TRUE(std::is_sorted(said.begin(), said.end()));
  EXPECT_GT(said.back(), 0.5);
  EXPECT_LE(said.back(), 1.0);
}

}  // namespace
}  // namespace fourfold::tests
