// Explanations beyond their sums: what is interference, what only a simulation knows, in whose
// seconds it speaks; and which sentence sums up a run, at the edges between them.
#include "sim/explain/explanation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "sim/cost/lower.hpp"
#include "tests/channels.hpp"
#include "tests/points.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Point tiny(const std::string& platform, const ProcessGrid& grid) {
  return made_up_point(platform, {"tiny", 4, 256, 8, 64, 512}, grid, 64, with_micro_batches(2));
}

// Where no collective runs beside a kernel, kernels and the slowest device are all of the compute:
// what is left over is interference.
TEST(Explanation, WithoutOverlapNothingInterferes) {
  std::vector<Point> points{tiny("crossbar", {2, 2, 2, 2}), tiny("crossbar", {1, 1, 1, 1}),
                            tiny("frontier", {2, 4, 4, 2}), tiny("perlmutter", {8, 1, 2, 4})};
  // Blocks that are alike, many times over, on devices of which one is the slowest.
  points.push_back(tiny("frontier", {2, 1, 1, 4}));
  points.back().model = {"deep", 24, 4096, 32, 1024, 512};
  points.back().options.micro_batches = 4;
  for (Point& point : points) {
    point.options.overlap = {false, false, false, false, false, false};
    const Platform platform = read_platform(point.platform);

    const Explanation explanation = explain_step(point, platform, std::nullopt);

    EXPECT_NEAR(explanation.interference.value, 0.0, 1e-12 * explanation.outcome.total.value)
        << point.platform << " " << point.grid.str();
    if (point.grid.size() == 1) {
      EXPECT_EQ(explanation.outcome.total, explanation.outcome.compute);
    }
    for (const ChannelUse& channel : explanation.channels) {
      const bool steady = platform.processor.repetition_spread == 0.0;
      EXPECT_TRUE(!steady || channel.waiting.value < 1e-12) << point.grid.str();
    }
    // Kernels of the tiny model take as long as their launch, on any device.
    EXPECT_EQ(explanation.slowest.value > 0.0, point.model.name == "deep") << point.grid.str();
  }
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

TEST(Explanation, NamesWhatOnlyTheSimulationHas) {
  const Platform platform = read_platform("frontier");
  const std::vector<std::pair<std::function<void(WhatIfs&)>, std::string>> changes{
      {[](WhatIfs&) {}, ""},
      {[](WhatIfs& all) { all.placement.by = Placing::spread; },
       "placement (but for how many nodes a group lies in)"},
      {[](WhatIfs& all) { all.jitter_percent = 3.0; }, "jitter"},
      {[](WhatIfs& all) { all.slow_devices.devices = {3}; }, "slow devices"},
      {[](WhatIfs& all) {
         all.degrade = {{"nic:0.0", 0.5}};
       },
       "degraded links"},
      {[](WhatIfs& all) {
         all.fail = {{"nic:0.0", 1}};
       },
       "failed links"},
      {[](WhatIfs& all) {
         all.background = {{"global", 30.0}};
       },
       "other jobs' traffic"}};
  for (const auto& [change, word] : changes) {
    Point point = tiny("frontier", {2, 2, 2, 2});
    change(point.what_ifs);
    const Simulated simulated{estimate_step(point, platform).outcome, ReplayDetail{}, {}};
    const std::vector<std::string> expected(word.empty() ? 0 : 1, word);

    EXPECT_EQ(explain_step(point, platform, simulated).not_in_closed_form, expected);
  }
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

// A step of 10 s: 4 s of products at half of their peak, 1 s of attention, and 3 s exposed.
Explanation made_up() {
  Explanation one;
  one.outcome = Outcome(made_up_channels());
  one.outcome.total = {10.0};
  one.kernels = {Seconds{4.0}, Seconds{1.0}, Seconds{1.0}, Seconds{1.0}};
  one.outcome.compute = {7.0};
  one.outcome.exposed[on::x] = {1.0};
  one.outcome.exposed[on::y] = {2.0};
  one.channels.resize(5);
  one.channels[on::y].busy = {8.0};
  one.channels[on::y].latency = {2.0};
  one.gemm_rate = {50e12};
  one.empirical_peak = {100e12};
  one.ideals = {
      {"network", "", {7.5}, ""}, {"overlap", "", {8.0}, ""}, {"gemm_empirical", "", {9.0}, ""}};
  return one;
}

const std::string by_products =
    "This run is limited by matrix products: 40.0 % of the step, done at 50.0 % of the empirical "
    "peak; ";

// Another kernel than products has no peak.
TEST(Verdict, NamesTheKernelThatTakesMostAndWhatIsExposed) {
  Explanation attention = made_up(), silent = made_up();
  attention.kernels[1 + functions::family_number(functions::attention)] = {4.5};
  silent.outcome.exposed.assign(5, {});

  EXPECT_EQ(made_up().verdict(),
            by_products + "30.0 % is exposed communication, most of it along y.");
  EXPECT_EQ(attention.verdict(),
            "This run is limited by attention: 45.0 % of the step; 30.0 % is exposed "
            "communication, most of it along y.");
  EXPECT_EQ(silent.verdict(), by_products + "no communication is exposed.");
  silent.ideals.pop_back();  // products in 8 bits
  EXPECT_THAT(silent.verdict(), Not(HasSubstr("peak")));
}

TEST(Verdict, IsCommunicationFromWhereItIsMoreThanTheBusiestKernel) {
  Explanation one = made_up();
  one.outcome.exposed[on::y] = {3.0};
  EXPECT_THAT(one.verdict(), StartsWith("This run is limited by matrix products"));  // 4 and 4
  one.outcome.exposed[on::y] = {3.125};

  EXPECT_EQ(one.verdict(),
            "Communication limits this run, most of all along y: 31.2 % of the step is exposed "
            "there, and 75 % of that lane's time is bandwidth; a network that takes no time would "
            "save 25.0 %.");
  one.channels[on::y].latency = {6.0};
  EXPECT_NE(one.verdict().find("and 75 % of that lane's time is latency"), std::string::npos);
  one.channels[on::y].latency = {16.0};
  EXPECT_NE(one.verdict().find("and 100 % of that lane's time is latency"), std::string::npos);
}

TEST(Verdict, IsThePipelineWhereHalfOfTheWaitsAreItsBubble) {
  Explanation one = made_up();
  one.outcome.bubble = {1.75};

  EXPECT_EQ(one.verdict(),
            by_products + "17.5 % is the pipeline's bubble, 12.5 % exposed communication.");
  one.outcome.bubble = {1.5};
  EXPECT_NE(one.verdict().find("most of it along y"), std::string::npos);
  one.kernels[0] = {2.5};
  one.outcome.bubble = {1.75};
  EXPECT_EQ(one.verdict(),
            "The pipeline limits this run: stages wait for each other during 17.5 % of the step; "
            "more micro-batches or fewer stages would shorten that.");
}

TEST(Verdict, IsSlowDevicesWhereOthersWaitForThemMostOfTheTime) {
  Explanation one = made_up();
  one.slower_devices = {0.5};
  one.channels[on::x].waiting = {0.5};
  one.channels[on::y].waiting = {1.0};
  EXPECT_THAT(one.verdict(), StartsWith("This run is limited by"));  // 1.5 of 3
  one.channels[on::y].waiting = {1.25};

  EXPECT_EQ(one.verdict(),
            "Slower devices limit this run: the others wait for them during 17.5 % of the step.");
  one.ideals.push_back({"without_slow_devices", "", {8.75}, ""});
  EXPECT_EQ(one.verdict(),
            "Slower devices limit this run: the others wait for them during 17.5 % of the step; "
            "they cost 1.250 s, 12.5 % of it.");
}

TEST(Parts, OfAPipelineTellItsMessagesFromItsBubble) {
  Explanation one = made_up();
  one.outcome.channels.push_back(forward_from(0, 2));
  one.outcome.channels.push_back(backward_from(1));
  one.outcome.exposed.push_back({0.5});
  one.outcome.exposed.push_back({0.25});
  one.outcome.bubble = {0.125};
  one.interference = {0.0625};
  one.last_device = {0.03125};
  one.channels[on::y].waiting = {0.015625};

  std::map<std::string, double> parts;
  for (const auto& [name, time] : one.parts()) parts[name] = time.value;

  EXPECT_EQ(parts.at("exposed messages between stages"), 0.625);
  EXPECT_EQ(parts.at("pipeline bubble"), 0.125);
  EXPECT_EQ(parts.at("interference of collectives with kernels"), 0.0625);
  EXPECT_EQ(parts.at("until the last device ends"), 0.03125);
  EXPECT_EQ(parts.at("attention"), 1.0);
  EXPECT_EQ(parts.at("exposed communication, y"), 2.0 - 0.015625);
  EXPECT_EQ(parts.at("waiting for the last member of a group"), 0.015625);
  EXPECT_EQ(parts.size(), 4U + 3 + 5 + 1 + 2 + 1);
}

}  // namespace
}  // namespace fourfold::tests
