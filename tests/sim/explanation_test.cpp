// The parts of an explanation sum to what they explain, and ideal parts are never slower.
#include "sim/explain/explanation.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/cost/lower.hpp"
#include "sim/explain/timeline.hpp"

namespace fourfold::tests {
namespace {

Point tiny(const std::string& platform, const ProcessGrid& grid) {
  Point point;
  point.platform = platform;
  point.model = {"tiny", 4, 256, 8, 64, 512};
  point.grid = grid;
  point.global_batch = 64;
  point.options.micro_batches = 2;
  return point;
}

std::vector<Point> points() {
  std::vector<Point> all{tiny("crossbar", {2, 2, 2, 2}), tiny("crossbar", {1, 1, 1, 1}),
                         tiny("crossbar", {4, 2, 1, 1}), tiny("frontier", {2, 4, 4, 2}),
                         tiny("perlmutter", {8, 1, 2, 4})};
  // Blocks that are alike, many times over, on devices of which one is the slowest.
  Point& deep = all.emplace_back(tiny("frontier", {2, 1, 1, 4}));
  deep.model = {"deep", 24, 4096, 32, 1024, 512};
  deep.options.micro_batches = 4;
  return all;
}

// A pipeline of three stages in every order, with layers that cannot be dealt out evenly.
std::vector<Point> pipelines() {
  std::vector<Point> all(5, tiny("crossbar", {2, 1, 2, 1, 3}));
  for (Point& point : all) {
    point.model.layers = 7;
    point.options.micro_batches = 6;
    point.global_batch = 12;
  }
  all[0].options.order = PipelineOrder::gpipe;
  all[1].options.order = PipelineOrder::one_f_one_b;
  all[2].options.order = PipelineOrder::interleaved;
  all[2].options.chunks = 2;
  all[3].options.order = PipelineOrder::zero_bubble;
  all[4].options.order = PipelineOrder::message_driven;
  all.push_back(all[1]);
  all.back().platform = "frontier";
  all.back().model.hidden = 4096;
  return all;
}

std::string title(const Point& point) {
  return point.platform + " " + point.grid.str();
}

TEST(Explanation, PartsSumToTheStep) {
  for (const Point& point : points()) {
    const Platform platform = read_platform(point.platform);

    const Explanation explanation = explain_step(point, platform, std::nullopt);

    Seconds sum;
    for (const auto& [part, time] : explanation.parts()) {
      sum += time;
      EXPECT_GE(time.value, -1e-12) << title(point) << ": " << part;
    }
    EXPECT_NEAR(sum.value, explanation.outcome.total.value, 1e-12) << title(point);
    EXPECT_EQ(explanation.outcome.total, estimate_step(point, platform).outcome.total);
    EXPECT_EQ(explanation.slower_devices.value, 0.0);
  }
}

// Where no collective runs beside a kernel, kernels and the slowest device are all of the compute:
// what is left over is interference.
TEST(Explanation, WithoutOverlapNothingInterferes) {
  for (Point point : points()) {
    point.options.overlap = {false, false, false, false, false, false};
    const Platform platform = read_platform(point.platform);

    const Explanation explanation = explain_step(point, platform, std::nullopt);

    EXPECT_NEAR(explanation.interference.value, 0.0, 1e-12 * explanation.outcome.total.value)
        << title(point);
    // Kernels of the tiny model take as long as their launch, on any device.
    EXPECT_EQ(explanation.slowest.value > 0.0, point.model.name == "deep") << title(point);
  }
}

TEST(Explanation, OfAPipelineSumsItsStages) {
  for (const Point& point : pipelines()) {
    const Platform platform = read_platform(point.platform);

    const Explanation explanation = explain_step(point, platform, std::nullopt);

    Seconds sum;
    for (const auto& [part, time] : explanation.parts()) {
      sum += time;
      EXPECT_GE(time.value, -1e-9) << name(point.options.order) << ": " << part;
    }
    EXPECT_NEAR(sum.value, explanation.outcome.total.value, 1e-9);
    EXPECT_GT(explanation.outcome.bubble.value, 0.0);
    std::vector<double> busy(explanation.channels.size());
    for (const CollectiveUse& use : explanation.collectives) {
      busy[static_cast<std::size_t>(use.channel)] += use.all().value;
    }
    for (std::size_t c = 0; c < busy.size(); ++c) {
      // Counts are means over three stages, rounded up; what shares something is longer in flight.
      const double in_flight = explanation.outcome.busy[c].value;
      EXPECT_GE(busy[c], 0.7 * in_flight - 1e-9) << name(explanation.outcome.channels[c]);
      EXPECT_LE(busy[c], 3.0 * in_flight + 1e-9) << name(explanation.outcome.channels[c]);
    }
  }
}

TEST(Explanation, ExposedAndHiddenAreWhatIsInFlightOrWaitedForTheLastMember) {
  for (const Point& point : points()) {
    const Platform platform = read_platform(point.platform);

    const Explanation explanation = explain_step(point, platform, std::nullopt);

    const bool steady = platform.processor.repetition_spread == 0.0;
    for (const ChannelUse& channel : explanation.channels) {
      EXPECT_NEAR(channel.exposed.value + channel.hidden.value,
                  channel.busy.value + channel.waiting.value, 1e-12)
          << title(point);
      if (steady) {
        EXPECT_NEAR(channel.waiting.value, 0.0, 1e-12) << title(point);
      }
      EXPECT_LE(channel.latency.value, channel.busy.value + 1e-12) << title(point);
    }
  }
}

TEST(Explanation, CollectivesSumToTheirChannels) {
  for (const Point& point : points()) {
    const Explanation explanation =
        explain_step(point, read_platform(point.platform), std::nullopt);
    const Counts counts = estimate_step(point, read_platform(point.platform)).counts;

    const std::vector<Channel>& channels = explanation.outcome.channels;
    std::vector<double> busy(channels.size());
    std::vector<std::int64_t> count(channels.size());
    for (const CollectiveUse& use : explanation.collectives) {
      busy[static_cast<std::size_t>(use.channel)] += use.all().value;
      count[static_cast<std::size_t>(use.channel)] += use.count;
      EXPECT_FALSE(use.names.empty());
    }

    for (std::size_t c = 0; c < channels.size(); ++c) {
      // Collectives are said as they are alone; what shares something takes longer.
      EXPECT_LE(busy[c], explanation.outcome.busy[c].value + 1e-12) << title(point);
      EXPECT_GE(busy[c], 0.5 * explanation.outcome.busy[c].value) << title(point);
      EXPECT_EQ(count[c], counts.collectives[c]) << title(point) << " " << name(channels[c]);
    }
  }
}

TEST(Explanation, IdealPartsAreNotSlower) {
  for (const Point& point : points()) {
    const Explanation explanation =
        explain_step(point, read_platform(point.platform), std::nullopt);

    for (const Ideal& ideal : explanation.ideals) {
      EXPECT_LE(ideal.time.value, explanation.outcome.total.value * (1 + 1e-12))
          << title(point) << ": " << ideal.name;
      EXPECT_GT(ideal.time.value, 0.0);
    }
  }
}

TEST(Explanation, OneDeviceCommunicatesNothing) {
  const Point point = tiny("crossbar", {1, 1, 1, 1});

  const Explanation explanation = explain_step(point, read_platform("crossbar"), std::nullopt);

  EXPECT_TRUE(explanation.collectives.empty());
  EXPECT_DOUBLE_EQ(explanation.ideals.at(0).time.value, explanation.outcome.total.value);
  EXPECT_NE(explanation.verdict().find("no communication is exposed"), std::string::npos)
      << explanation.verdict();
}

TEST(Explanation, SlowerDevicesHaveTheirPart) {
  const Point point = tiny("crossbar", {2, 2, 2, 2});
  const Platform platform = read_platform("crossbar");
  Outcome slowed = estimate_step(point, platform).outcome;
  const Seconds beyond = slowed.compute * 0.1;
  slowed.compute += beyond;
  slowed.exposed[0] += slowed.total;
  slowed.total = slowed.compute + slowed.exposed_total();

  const Explanation explanation = explain_step(point, platform, Simulated{slowed, {}, {}});

  EXPECT_NEAR(explanation.slower_devices.value, beyond.value, 1e-12);
  EXPECT_GT(explanation.waiting().value, 0.0);
  EXPECT_EQ(explanation.verdict().find("Slower devices limit this run"), 0U)
      << explanation.verdict();
}

TEST(Explanation, ChannelsSendAndPayInLatencyWhatTheirPostsDo) {
  for (const Point& point : points()) {
    const Platform platform = read_platform(point.platform);
    const TimedProgram program = lower(point, platform);
    std::vector<Seconds> latency(program.channels.size());
    std::vector<Bytes> sent(program.channels.size());
    for (const RunCycle& cycle : program.cycles) {
      for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
        const StepRun& run = program.runs[static_cast<std::size_t>(r)];
        const auto times = static_cast<double>(run.repeats * cycle.repeats);
        for (std::int32_t s = run.first; s < run.last; ++s) {
          const TimedStep& step = program.steps[static_cast<std::size_t>(s)];
          if (step.kind != StepKind::post) continue;
          const auto& cost = program.collectives[static_cast<std::size_t>(step.collective)].cost;
          latency[step.channel] += cost.delay * times;
          sent[step.channel] += cost.work * times;
        }
      }
    }

    const Explanation explanation = explain_step(point, platform, std::nullopt);

    ASSERT_EQ(explanation.channels.size(), program.channels.size());
    for (std::size_t c = 0; c < program.channels.size(); ++c) {
      const ChannelUse& use = explanation.channels[c];
      EXPECT_NEAR(use.latency.value, latency[c].value, 1e-12) << title(point);
      EXPECT_NEAR(use.sent.value, sent[c].value, 1e-9 * sent[c].value) << title(point);
    }
  }
}

// Simulated seconds that are twice the closed form's, flights too, and half a second until the last
// device ends.
TEST(Explanation, OfASimulationIsInItsOwnSeconds) {
  const Point point = tiny("crossbar", {2, 2, 2, 2});
  const Platform platform = read_platform("crossbar");
  const Explanation closed_form = explain_step(point, platform, std::nullopt);
  Simulated simulated{closed_form.outcome, ReplayDetail{}, {}};
  simulated.outcome.total = closed_form.outcome.total * 2.0;
  simulated.outcome.exposed[0] +=
      closed_form.outcome.total - Seconds{0.5};  // so that half a second is left
  simulated.detail->longest_compute = {7.0};
  for (const TimedCollective& one : lower(point, platform).collectives) {
    simulated.detail->flights.push_back({one.uncontended * 2.0, one.uncontended * 3.0});
  }

  const Explanation explanation = explain_step(point, platform, simulated);

  EXPECT_NEAR(explanation.last_device.value, 0.5, 1e-12);
  ASSERT_FALSE(explanation.collectives.empty());
  for (const CollectiveUse& use : explanation.collectives) {
    EXPECT_NEAR(use.flown_bus_bandwidth.value, use.bus_bandwidth.value / 2,
                1e-9 * use.bus_bandwidth.value);
    EXPECT_DOUBLE_EQ(use.flown->longest.value, 3 * use.each.value);
  }
  ASSERT_EQ(explanation.ideals.size(), closed_form.ideals.size());
  for (std::size_t i = 0; i < explanation.ideals.size(); ++i) {
    const Ideal& ideal = explanation.ideals[i];
    const double expected = ideal.key == "overlap" ? 7.0 : 2 * closed_form.ideals[i].time.value;
    EXPECT_NEAR(ideal.time.value, expected, 1e-12) << ideal.key;
  }
}

// One what-if after the other, and none.
TEST(Explanation, NamesWhatOnlyTheSimulationHas) {
  const Platform platform = read_platform("frontier");
  const auto beyond = [&](auto change) {
    Point point = tiny("frontier", {2, 2, 2, 2});
    change(point.what_ifs);
    const Simulated simulated{estimate_step(point, platform).outcome, ReplayDetail{}, {}};
    return explain_step(point, platform, simulated).not_in_closed_form;
  };
  using Words = std::vector<std::string>;

  EXPECT_EQ(beyond([](WhatIfs&) {}), Words{});
  EXPECT_EQ(beyond([](WhatIfs& all) { all.placement.by = Placing::spread; }),
            Words{"placement (but for how many nodes a group lies in)"});
  EXPECT_EQ(beyond([](WhatIfs& all) { all.jitter_percent = 3.0; }), Words{"jitter"});
  EXPECT_EQ(beyond([](WhatIfs& all) { all.slow_devices.devices = {3}; }), Words{"slow devices"});
  EXPECT_EQ(beyond([](WhatIfs& all) {
              all.degrade.push_back({"nic:0.0", 0.5});
            }),
            Words{"degraded links"});
  EXPECT_EQ(beyond([](WhatIfs& all) {
              all.fail.push_back({"nic:0.0", 1});
            }),
            Words{"failed links"});
  EXPECT_EQ(beyond([](WhatIfs& all) {
              all.background.push_back({"global", 30.0});
            }),
            Words{"other jobs' traffic"});
}

// One device of four waits 2 s for others, three wait 0.4 s: 0.8 s on average. Of 3 s exposed 2.2 s
// are in flight, and of 5 s in flight the rest is hidden.
TEST(Explanation, HiddenIsInFlightLessExposedWhereDevicesWaitForOthers) {
  const Point point = tiny("crossbar", {2, 2, 2, 2});
  const Platform platform = read_platform("crossbar");
  Simulated simulated;
  simulated.outcome = estimate_step(point, platform).outcome;
  const std::size_t channels = simulated.outcome.channels.size();
  const auto y =
      static_cast<std::size_t>(std::ranges::find(simulated.outcome.channels, Channel{Axis::y, ""}) -
                               simulated.outcome.channels.begin());
  ASSERT_LT(y, channels);
  simulated.outcome.busy[y] = {5.0};
  simulated.outcome.exposed[y] = {3.0};
  simulated.detail.emplace();
  simulated.detail->classes.resize(2);
  for (ClassUse& one : simulated.detail->classes)
    one.exposed = one.late = std::vector<Seconds>(channels);
  simulated.detail->classes[0].devices = 1;
  simulated.detail->classes[0].late[y] = {2.0};
  simulated.detail->classes[1].devices = 3;
  simulated.detail->classes[1].late[y] = {0.4};

  const ChannelUse use = explain_step(point, platform, simulated).channels[y];

  EXPECT_NEAR(use.waiting.value, 0.8, 1e-12);
  EXPECT_NEAR(use.hidden.value, 2.8, 1e-12);
  EXPECT_NEAR((use.exposed + use.hidden).value, (use.busy + use.waiting).value, 1e-12);
}

// nccl-tests, doc/PERFORMANCE.md: busbw = S/t * (n-1)/n, all-reduce twice that.
TEST(Explanation, BusBandwidthIsThatOfNcclTests) {
  const Bytes buffer{8e9};
  EXPECT_DOUBLE_EQ(bus_bandwidth(CollectiveKind::all_reduce, buffer, 8, {2.0}).value, 7e9);
  EXPECT_DOUBLE_EQ(bus_bandwidth(CollectiveKind::all_gather, buffer, 8, {2.0}).value, 3.5e9);
  EXPECT_DOUBLE_EQ(bus_bandwidth(CollectiveKind::reduce_scatter, buffer, 2, {2.0}).value, 2e9);
}

}  // namespace
}  // namespace fourfold::tests
