// The closed form's answers to 140 questions drawn over all options, on the tests' own machines:
// seconds, what was lowered, what a device's log and the explanation say. The steps are those of
// drawn_counts.txt by number, but for an optimizer on the host where a machine says no way there.
#include "tests/drawn_points.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "schedule/fold/short_folds.hpp"
#include "sim/cost/paper_model.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/explanation.hpp"
#include "tests/golden.hpp"

namespace fourfold {
namespace {

using testing::drawn_point;
using testing::DrawnPoint;
using testing::in_digits;

constexpr std::int64_t points_drawn = 140;
constexpr std::int64_t most_devices = 96;

std::string text_of(const Outcome& outcome) {
  std::string text = fmt::format("{} s, compute {} bubble {}", in_digits(outcome.total),
                                 in_digits(outcome.compute), in_digits(outcome.bubble));
  for (std::size_t c = 0; c < outcome.channels.size(); ++c) {
    if (outcome.busy[c].value == 0.0 && outcome.exposed[c].value == 0.0) continue;
    text += fmt::format(" {} {}/{}", name(outcome.channels[c]), in_digits(outcome.exposed[c]),
                        in_digits(outcome.busy[c]));
  }
  return text;
}

// Sums over what is lowered, each step and collective said once.
std::string text_of(const TimedProgram& program) {
  double compute = 0.0, delay = 0.0, work = 0.0, slowest = 1e300, uncontended = 0.0;
  for (const TimedStep& step : program.steps) compute += step.duration.value;
  std::map<std::string, int> ways;
  for (const TimedCollective& one : program.collectives) {
    delay += one.cost.delay.value;
    work += one.cost.work.value;
    if (one.cost.work.value > 0.0) slowest = std::min(slowest, one.cost.rate_cap.value);
    uncontended += one.uncontended.value;
    ++ways[name(one.algorithm) +
           std::string(one.protocol == WireProtocol::simple ? "" : "-low-latency")];
  }
  std::string text = fmt::format(
      "{} steps {:.10g}, {} collectives: delay {:.10g} work {:.10g} slowest {:.10g} "
      "alone {:.10g}",
      program.steps.size(), compute, program.collectives.size(), delay, work, slowest, uncontended);
  for (const auto& [way, times] : ways) text += fmt::format(" {} {}", times, way);
  return text;
}

double sum(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

std::string text_of(const DeviceLog& log) {
  double flights = 0.0;
  for (const auto& channel : log.flights) {
    for (const DeviceLog::Flight& flight : channel) flights += flight.finish + flight.start;
  }
  return fmt::format("{} {:.10g} {:.10g} flights {:.10g}, {} turns", log.arrive.size(),
                     sum(log.arrive), sum(log.leave), flights, log.turns.size());
}

std::string text_of(const Explanation& found) {
  std::string text = "kernels";
  for (Seconds kernels : found.kernels) text += ' ' + in_digits(kernels, 8);
  text += fmt::format(", interference {} waiting {}", in_digits(found.interference, 8),
                      in_digits(found.waiting(), 8));
  for (const ChannelUse& use : found.channels) {
    if (use.collectives == 0) continue;
    text +=
        fmt::format(" | {} of {} hidden {} latency {} sent {:.8g}", use.collectives, use.members,
                    in_digits(use.hidden, 8), in_digits(use.latency, 8), use.sent.value);
  }
  Seconds all;
  double latency = 0.0, bandwidth = 0.0;
  for (const CollectiveUse& use : found.collectives) {
    all += use.all();
    latency += use.latency_share;
    bandwidth += use.bus_bandwidth.value;
  }
  text += fmt::format("; {} uses {} {:.8g} {:.8g}; ideal", found.collectives.size(),
                      in_digits(all, 8), latency, bandwidth);
  for (const Ideal& ideal : found.ideals) text += ' ' + in_digits(ideal.time, 8);
  return text;
}

TEST(DrawnPoints, AreEstimatedAsTheGoldenNumbers) {
  std::string text;
  for (std::int64_t number = 0; number < points_drawn; ++number) {
    const DrawnPoint drawn = drawn_point(number, most_devices);
    const TimedProgram program = lower(drawn.point, drawn.platform);
    const Estimate found = estimate(drawn.point, drawn.platform);
    text += fmt::format("{}: {}\n  {}\n  paper {:.10g} s, {}\n", number, drawn.words,
                        text_of(found.outcome),
                        paper_communication(found.counts, drawn.point.grid, drawn.platform).value,
                        text_of(program));
    const std::int64_t last = drawn.point.grid.extent(Axis::pipe) - 1;
    text += fmt::format("  log {}\n", text_of(estimated_log(program, last)));
  }

  expect_golden("drawn_estimates.txt", text);
}

TEST(DrawnPoints, AreExplainedAsTheGoldenNumbers) {
  std::string text;
  for (std::int64_t number = 0; number < points_drawn; number += 3) {
    const DrawnPoint drawn = drawn_point(number, most_devices);
    const Explanation found = explain(drawn.point, drawn.platform, std::nullopt);
    text +=
        fmt::format("{}: {}\n  {}\n  {}\n", number, drawn.words, text_of(found), found.verdict());
  }

  expect_golden("drawn_explanations.txt", text);
}

// A pipeline whose stages have much in common is evaluated another way than stage by stage.
TEST(DrawnPoints, AreEstimatedAlikeByStageAndByPipeline) {
  for (std::int64_t number = 0; number < points_drawn; ++number) {
    const DrawnPoint drawn = drawn_point(number, most_devices);
    const Point& point = drawn.point;
    const std::vector<Folded> stages =
        folded_stages(point.model, point.options, point.grid.extent(Axis::pipe));
    Estimator estimator(drawn.platform, point);
    const std::int64_t micro_batches = point.options.micro_batches;

    const Estimate one = estimator.evaluate(stages, point.grid, micro_batches);
    const Estimate other = estimator.evaluate(Pipeline(stages), point.grid, micro_batches);

    EXPECT_NEAR(other.outcome.total.value / one.outcome.total.value, 1.0, 1e-9) << drawn.words;
    EXPECT_NEAR(other.outcome.bubble.value, one.outcome.bubble.value,
                1e-9 * one.outcome.total.value)
        << drawn.words;
    EXPECT_NEAR(other.counts.executed().value / one.counts.executed().value, 1.0, 1e-12);
    ASSERT_EQ(other.stage_memory.size(), one.stage_memory.size());
    for (std::size_t i = 0; i < one.stage_memory.size(); ++i) {
      EXPECT_EQ(other.stage_memory[i].peak.value, one.stage_memory[i].peak.value) << drawn.words;
    }
  }
}

}  // namespace
}  // namespace fourfold
