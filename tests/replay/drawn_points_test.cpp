// What is simulated for questions drawn over all options and what-ifs, on the tests' own machines:
// seconds, links, who waits for whom, and what the explanation makes of them.
#include "tests/drawn_points.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/conditions/conditions.hpp"
#include "sim/conditions/what_ifs.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/explanation.hpp"
#include "sim/replay/replay.hpp"
#include "tests/golden.hpp"

namespace fourfold {
namespace {

using testing::Draw;
using testing::drawn_uneven_point;
using testing::DrawnPoint;
using testing::in_digits;

constexpr std::int64_t points_drawn = 70;
constexpr std::int64_t most_devices = 24;

ReplayOptions options_of(const DrawnPoint& drawn, std::int64_t number) {
  const Point& point = drawn.point;
  ReplayOptions options;
  options.extent =
      Draw(number, 0).often("full", 50) ? ReplayExtent::full : ReplayExtent::extrapolated;
  options.detail = DetailWanted::explanation;
  options.mapping = mapping_of(point, drawn.platform);
  options.compute_factors = compute_factors(point, options.mapping);
  options.jitter = jitter_of(point.what_ifs);
  options.faults = {point.what_ifs.degrade, point.what_ifs.fail};
  return options;
}

std::string text_of(const Outcome& outcome) {
  std::string text = fmt::format("{} s, compute {} bubble {}", in_digits(outcome.total, 8),
                                 in_digits(outcome.compute, 8), in_digits(outcome.bubble, 8));
  for (std::size_t c = 0; c < outcome.channels.size(); ++c) {
    if (outcome.busy[c].value == 0.0 && outcome.exposed[c].value == 0.0) continue;
    text += fmt::format(" {} {}/{}", name(outcome.channels[c]), in_digits(outcome.exposed[c], 8),
                        in_digits(outcome.busy[c], 8));
  }
  return text;
}

std::string text_of(const ReplayDetail& detail) {
  std::string text;
  for (const LinkUse& use : detail.links) {
    text +=
        fmt::format("    {} {} of {:.6g}: {:.8g} B, busiest {} {:.6g}\n", use.links, use.link_class,
                    use.capacity.value, use.bytes.value, use.busiest, use.busiest_utilisation);
  }
  double mean = 0.0, longest = 0.0;
  for (const FlightTimes& times : detail.flights) {
    mean += times.mean.value;
    longest += times.longest.value;
  }
  text += fmt::format("    flights {:.8g} {:.8g}; longest compute {:.8g}", mean, longest,
                      detail.longest_compute.value);
  for (const ClassUse& use : detail.classes) {
    double late = 0.0;
    for (Seconds one : use.late) late += one.value;
    text +=
        fmt::format(" {} {} {:.8g} late {:.6g}", use.devices, use.name, use.compute.value, late);
  }
  for (const Latecomer& one : detail.latecomers) {
    text += fmt::format(", {} by {}", one.rank, in_digits(one.waited, 6));
  }
  return text + '\n';
}

std::string text_of(const Explanation& found) {
  std::string text =
      fmt::format("    slower {} interference {} last {} waiting {};",
                  in_digits(found.slower_devices, 8), in_digits(found.interference, 8),
                  in_digits(found.last_device, 8), in_digits(found.waiting(), 8));
  for (const ChannelUse& use : found.channels) {
    if (use.collectives == 0) continue;
    text +=
        fmt::format(" hidden {} waiting {}", in_digits(use.hidden, 8), in_digits(use.waiting, 8));
  }
  return text + "\n    " + found.verdict() + '\n';
}

std::string text_of(DrawnPoint drawn, std::int64_t number) {
  std::string text;
  const TimedProgram program = lower(drawn.point, drawn.platform);
  const auto simulated = [&] {
    return replay(program, drawn.point.grid, drawn.platform, options_of(drawn, number));
  };
  Replay result;
  try {
    result = simulated();
  } catch (const std::runtime_error& error) {  // a fault that cannot take effect in this job
    text += fmt::format("    {}\n", error.what());
    drawn.point.what_ifs.degrade.clear();
    drawn.point.what_ifs.fail.clear();
    result = simulated();
  }
  for (const std::string& sentence : sentences(drawn.point.what_ifs, drawn.point.grid.size())) {
    text += fmt::format("    {}\n", sentence);
  }
  text +=
      fmt::format("    {}; {} collectives, {} attempts{}\n", text_of(result.outcome),
                  result.collectives, result.attempts, result.extrapolated ? ", extrapolated" : "");
  text += text_of(*result.detail);
  const Simulated seen{result.outcome, result.detail, {}};
  return text + text_of(explain(drawn.point, drawn.platform, seen));
}

TEST(DrawnPoints, AreSimulatedAsTheGoldenNumbers) {
  std::string text;
  for (std::int64_t number = 0; number < points_drawn; ++number) {
    const DrawnPoint drawn = drawn_uneven_point(number, most_devices);
    text += fmt::format("{}: {}, {}\n", number, drawn.words, drawn.step_words);
    try {
      text += text_of(drawn, number);
    } catch (const std::exception& error) {
      ADD_FAILURE() << drawn.words << ": " << error.what();
    }
  }

  expect_golden("drawn_simulations.txt", text);
}

}  // namespace
}  // namespace fourfold
