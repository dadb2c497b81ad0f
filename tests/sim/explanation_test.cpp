// The parts of an explanation sum to what they explain, and ideal parts are never slower.
#include "sim/explain/explanation.hpp"

#include <gtest/gtest.h>

#include "sim/cost/lower.hpp"
#include "sim/explain/timeline.hpp"

namespace fourfold {
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
  return {tiny("crossbar", {2, 2, 2, 2}), tiny("crossbar", {1, 1, 1, 1}),
          tiny("crossbar", {4, 2, 1, 1}), tiny("frontier", {2, 4, 4, 2}),
          tiny("perlmutter", {8, 1, 2, 4})};
}

std::string title(const Point& point) {
  return point.platform + " " + point.grid.str();
}

TEST(Explanation, PartsSumToTheStep) {
  for (const Point& point : points()) {
    const Platform platform = read_platform(point.platform);

    const Explanation explanation = explain(point, platform, std::nullopt);

    Seconds sum;
    for (const auto& [part, time] : explanation.parts()) {
      sum += time;
      EXPECT_GE(time.value, -1e-12) << title(point) << ": " << part;
    }
    EXPECT_NEAR(sum.value, explanation.outcome.total.value, 1e-12) << title(point);
    EXPECT_EQ(explanation.outcome.total, estimate(point, platform).outcome.total);
    EXPECT_EQ(explanation.slower_devices.value, 0.0);
  }
}

TEST(Explanation, ExposedAndHiddenAreWhatIsInFlight) {
  for (const Point& point : points()) {
    const Explanation explanation = explain(point, read_platform(point.platform), std::nullopt);

    for (const ChannelUse& channel : explanation.channels) {
      EXPECT_NEAR(channel.exposed.value + channel.hidden.value, channel.busy.value, 1e-12)
          << title(point);
      EXPECT_NEAR(channel.waiting.value, 0.0, 1e-12) << title(point);
      EXPECT_LE(channel.latency.value, channel.busy.value + 1e-12) << title(point);
    }
  }
}

TEST(Explanation, CollectivesSumToTheirChannels) {
  for (const Point& point : points()) {
    const Explanation explanation = explain(point, read_platform(point.platform), std::nullopt);
    const Counts counts = estimate(point, read_platform(point.platform)).counts;

    const std::vector<Channel>& channels = explanation.outcome.channels;
    std::vector<double> busy(channels.size());
    std::vector<std::int64_t> count(channels.size());
    for (const CollectiveUse& use : explanation.collectives) {
      busy[static_cast<std::size_t>(use.channel)] += use.all().value;
      count[static_cast<std::size_t>(use.channel)] += use.count;
      EXPECT_FALSE(use.names.empty());
    }

    for (std::size_t c = 0; c < channels.size(); ++c) {
      EXPECT_NEAR(busy[c], explanation.outcome.busy[c].value, 1e-12) << title(point);
      EXPECT_EQ(count[c], counts.collectives[c]) << title(point) << " " << name(channels[c]);
    }
  }
}

TEST(Explanation, IdealPartsAreNotSlower) {
  for (const Point& point : points()) {
    const Explanation explanation = explain(point, read_platform(point.platform), std::nullopt);

    for (const Ideal& ideal : explanation.ideals) {
      EXPECT_LE(ideal.time.value, explanation.outcome.total.value * (1 + 1e-12))
          << title(point) << ": " << ideal.name;
      EXPECT_GT(ideal.time.value, 0.0);
    }
  }
}

TEST(Explanation, OneDeviceCommunicatesNothing) {
  const Point point = tiny("crossbar", {1, 1, 1, 1});

  const Explanation explanation = explain(point, read_platform("crossbar"), std::nullopt);

  EXPECT_TRUE(explanation.collectives.empty());
  EXPECT_DOUBLE_EQ(explanation.ideals.at(0).time.value, explanation.outcome.total.value);
  EXPECT_NE(explanation.verdict().find("no communication is exposed"), std::string::npos)
      << explanation.verdict();
}

TEST(Explanation, SlowerDevicesHaveTheirPart) {
  const Point point = tiny("crossbar", {2, 2, 2, 2});
  const Platform platform = read_platform("crossbar");
  Outcome slowed = estimate(point, platform).outcome;
  const Seconds beyond = slowed.compute * 0.1;
  slowed.compute += beyond;
  slowed.exposed[0] += slowed.total;
  slowed.total = slowed.compute + slowed.exposed_total();

  const Explanation explanation = explain(point, platform, Simulated{slowed, {}, {}});

  EXPECT_NEAR(explanation.slower_devices.value, beyond.value, 1e-12);
  EXPECT_GT(explanation.waiting().value, 0.0);
  EXPECT_EQ(explanation.verdict().find("Slower devices limit this run"), 0U)
      << explanation.verdict();
}

// nccl-tests, doc/PERFORMANCE.md: busbw = S/t * (n-1)/n, all-reduce twice that.
TEST(Explanation, BusBandwidthIsThatOfNcclTests) {
  const Bytes buffer{8e9};
  EXPECT_DOUBLE_EQ(bus_bandwidth(CollectiveKind::all_reduce, buffer, 8, {2.0}).value, 7e9);
  EXPECT_DOUBLE_EQ(bus_bandwidth(CollectiveKind::all_gather, buffer, 8, {2.0}).value, 3.5e9);
  EXPECT_DOUBLE_EQ(bus_bandwidth(CollectiveKind::reduce_scatter, buffer, 2, {2.0}).value, 2e9);
}

}  // namespace
}  // namespace fourfold
