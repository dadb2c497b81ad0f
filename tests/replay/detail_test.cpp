// What a replay says beyond its outcome: links carry what the counted rung counts, classes wait for
// the slow device alone, and timelines of logged devices are whole, whether loops are cut or not.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/conditions/conditions.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/ideal.hpp"
#include "sim/question/replay_detail.hpp"
#include "sim/replay/replay.hpp"
#include "tests/points.hpp"
#include "tests/sim/programs.hpp"
#include "tests/sim/spans.hpp"

namespace fourfold::tests {
namespace {

Point tiny(const std::string& platform, const ProcessGrid& grid, std::int64_t layers = 4) {
  return made_up_point(platform, {"tiny", layers, 1024, 8, 256, 4096}, grid, 64,
                       with_micro_batches(4));
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
  for (const TimedStep& step : unrolled_steps(c.program)) {
    if (step.kind != StepKind::post) continue;
    const auto& one = c.program.collectives[static_cast<std::size_t>(step.collective)];
    if (one.protocol == WireProtocol::low_latency) bytes += one.cost.work.value / 2;
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

// Of devices that differ, and of each stage in every order.
TEST(Timelines, OfReplaysAreWhole) {
  std::vector<Case> cases = uneven_cases();
  for (PipelineOrder order :
       {PipelineOrder::gpipe, PipelineOrder::one_f_one_b, PipelineOrder::interleaved,
        PipelineOrder::zero_bubble, PipelineOrder::message_driven}) {
    Point point = tiny("frontier", {2, 1, 2, 1, 3}, 8);
    point.options.order = order;
    point.options.chunks = order == PipelineOrder::interleaved ? 2 : 1;
    point.options.micro_batches = 36;
    point.global_batch = 72;
    cases.emplace_back(point);
  }
  for (const Case& c : cases) {
    const ProgramDetail detail(c.point, c.platform, c.program);
    for (ReplayExtent extent : {ReplayExtent::extrapolated, ReplayExtent::full}) {
      const Replay result = c.run(extent);
      const double total = result.outcome.total.value;
      std::set<std::int64_t> stages;
      for (const DeviceTimeline& one : result.detail->timelines) {
        const std::int64_t stage = c.point.grid.coordinate(one.rank, Axis::pipe);
        stages.insert(stage);
        for (Repeated repeated : {Repeated::all, Repeated::sampled}) {
          const double end = expect_whole(
              timeline(one.log, detail, result.detail->logged, repeated, stage), 1e-9, one.name);
          EXPECT_LE(end, total * (1 + 1e-6)) << one.name;
          EXPECT_GE(end, total * 0.8) << one.name;
        }
      }
      EXPECT_EQ(std::ssize(stages), c.point.grid.extent(Axis::pipe));
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

}  // namespace
}  // namespace fourfold::tests
