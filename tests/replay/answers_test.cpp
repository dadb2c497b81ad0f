// Every number of a simulation, for small jobs under each condition, on each kind of network, in
// each order and fidelity: a change that moves one shows here, whether it was meant or not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "sim/conditions/conditions.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/ideal.hpp"
#include "sim/question/point_json.hpp"
#include "sim/question/replay_detail.hpp"
#include "sim/replay/replay.hpp"
#include "tests/golden.hpp"

namespace fourfold {
namespace {

const Model tiny{"tiny", 5, 1024, 16, 250, 4099};

struct Asked {
  const char* machine;
  const char* grid;
  const char* what_ifs = "{}";
  const char* options = R"({"micro_batches": 2})";
  Carrier carrier = Carrier::flows;
  IdealPart ideal = IdealPart::none;
  ReplayExtent extent = ReplayExtent::full;
};

constexpr const char* one_f_one_b = R"({"micro_batches": 6})";
constexpr const char* gpipe = R"({"micro_batches": 6, "order": "gpipe"})";
constexpr const char* interleaved =
    R"({"micro_batches": 4, "order": "interleaved", "chunks": 2, "sequence_parallel": true})";

const std::vector<Asked> questions{
    {"frontier", "2x2x4x2"},
    {"frontier", "2x2x4x2", R"({"placement": "spread"})"},
    {"frontier", "2x2x4x2", R"({"placement": "random", "seed": 5})"},
    {"frontier", "2x2x4x2", R"({"placement": "nodes=3,130,129,700"})"},
    {"frontier", "2x2x2x1", R"({"placement": "devices=0,9,2,11,16,25,18,27"})"},
    {"frontier", "2x2x4x2", R"({"jitter": "3%", "seed": 2})"},
    {"frontier", "2x2x4x2", R"({"slow_devices": "2:0.5"})"},
    {"frontier", "2x2x4x2", R"({"slow_devices": "3,9,21=0.8"})"},
    {"frontier", "2x2x4x2", R"({"degrade": ["nic:1.2=0.3", "inner:0.0-1=0.5"]})"},
    {"frontier", "2x2x4x2", R"({"fail": ["nic:1.2"]})"},
    {"frontier", "2x2x4x2", R"({"placement": "spread", "degrade": ["global:0-1=0.1"]})"},
    {"frontier", "2x2x4x2", R"({"placement": "spread", "fail": ["global:0-1=3"]})"},
    {"frontier", "2x2x4x2", R"({"placement": "spread", "fail": ["global:0-1=4"]})"},
    {"frontier", "2x2x4x2", R"({"placement": "nodes=0,16,32,48", "fail": ["local:0.0-4"]})"},
    {"polaris", "4x1x2x5"},
    {"perlmutter", "2x2x3x4", R"({"collective": "tree"})"},
    {"alps", "4x1x4x3", R"({"placement": "spread"})"},
    {"aurora", "4x1x6x2", "{}", R"({"zero": 2, "micro_batches": 3})"},
    {"summit", "2x1x6x4"},
    {"dgx-h100", "4x2x4x2", "{}", R"({"zero": 3})"},
    {"meta-24k-h100", "8x1x4x2", R"({"placement": "spread"})"},
    {"selene", "8x1x2x4", R"({"slow_devices": "1:0.5", "jitter": "1%"})"},
    {"jean-zay", "2x2x4x3"},
    {"juwels-booster", "4x1x4x3", R"({"placement": "spread"})"},
    {"leonardo", "4x1x4x3", R"({"placement": "random"})"},
    {"lumi", "2x4x4x2", "{}", R"({"in_flight_blocks": 1})"},
    {"torus", "2x2x4x3"},
    {"crossbar", "2x2x4x2", "{}", R"({"micro_batches": 9})"},
    {"crossbar", "2x2x4x2", "{}", R"({"micro_batches": 9})", Carrier::flows, IdealPart::none,
     ReplayExtent::extrapolated},
    {"crossbar-shared", "2x2x2x2", R"({"degrade": ["device:3=0.5"]})"},
    {"crossbar-shared", "2x2x2x2", "{}", R"({"micro_batches": 2})", Carrier::stock_edges},
    {"crossbar-shared", "2x2x2x2", "{}", R"({"micro_batches": 2})", Carrier::stock_steps},
    {"frontier", "2x2x4x1", "{}", R"({"micro_batches": 1})", Carrier::stock_edges},
    {"frontier", "2x2x4x1", "{}", R"({"micro_batches": 1})", Carrier::stock_steps},
    {"frontier", "2x2x4x2", "{}", R"({"micro_batches": 1})", Carrier::flows, IdealPart::network},
    {"frontier", "2x2x4x2", "{}", R"({"micro_batches": 1})", Carrier::flows,
     IdealPart::gemm_empirical},
    {"frontier", "2x2x4x2", "{}", R"({"micro_batches": 1})", Carrier::flows,
     IdealPart::gemm_advertised},
    {"selene", "x=4,data=2,pipe=3", "{}", one_f_one_b},
    {"selene", "x=4,data=2,pipe=3", R"({"slow_devices": "1:0.7"})", gpipe},
    {"selene", "x=4,z=2,pipe=2", R"({"degrade": ["nic:0.0=0.5"]})", interleaved},
    {"polaris", "x=2,z=2,pipe=4", R"({"jitter": "2%"})", one_f_one_b},
    {"crossbar", "x=2,data=2,pipe=2", "{}", interleaved, Carrier::stock_edges},
};

Point point_of(const Asked& asked) {
  using nlohmann::json;
  Point point;
  point.platform = asked.machine;
  point.model = tiny;
  point.grid = ProcessGrid::parse(asked.grid);
  json options = json_of(StepOptions{});
  options.merge_patch(json::parse(asked.options));
  point.options = read_options(JsonObject(options, "options"));
  point.global_batch =
      2 * point.options.micro_batches * point.grid.extent(Axis::z) * point.grid.extent(Axis::data);
  const json what_ifs = json::parse(asked.what_ifs);
  point.what_ifs = read_what_ifs(JsonObject(what_ifs, "what-ifs"));
  return point;
}

Replay replay_of(const Asked& asked, const Point& point) {
  const Platform platform = read_platform(point.platform);
  ReplayOptions options;
  options.extent = asked.extent;
  options.carrier = asked.carrier;
  options.detail = DetailWanted::timeline;
  options.mapping = mapping_of(point, platform);
  options.compute_factors = compute_factors(point, options.mapping);
  options.jitter = jitter_of(point.what_ifs);
  options.faults = {point.what_ifs.degrade, point.what_ifs.fail};
  return replay(lower(point, platform, asked.ideal), point.grid, platform, options);
}

std::string by_channel(const std::vector<Channel>& channels, const std::vector<Seconds>& times) {
  std::string text;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    text += fmt::format(" {} {:.8g}", name(channels[c]), times[c].value);
  }
  return text;
}

double sum(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

std::string text_of(const ReplayDetail& detail, const std::vector<Channel>& channels) {
  std::string text;
  for (const LinkUse& use : detail.links) {
    text += fmt::format("  {} links {} of {:.6g}: {:.8g} B, use {:.8g}, busiest {:.8g} B {:.8g}\n",
                        use.links, use.link_class, use.capacity.value, use.bytes.value,
                        use.mean_utilisation, use.busiest_bytes.value, use.busiest_utilisation);
  }
  text += "  flights";
  for (const FlightTimes& times : detail.flights) {
    text += fmt::format(" {:.8g}/{:.8g}", times.mean.value, times.longest.value);
  }
  text += fmt::format("\n  longest compute {:.8g}\n", detail.longest_compute.value);
  for (const ClassUse& use : detail.classes) {
    text += fmt::format("  {} {}: compute {:.8g}\n    exposed{}\n    late{}\n", use.devices,
                        use.name, use.compute.value, by_channel(channels, use.exposed),
                        by_channel(channels, use.late));
  }
  for (const Latecomer& one : detail.latecomers) {
    text += fmt::format("  waited for {}: {:.8g}\n", one.rank, one.waited.value);
  }
  for (const DeviceTimeline& one : detail.timelines) {
    double flights = 0.0;
    for (const auto& channel : one.log.flights) {
      for (const DeviceLog::Flight& flight : channel) flights += flight.finish - flight.start;
    }
    text += fmt::format(
        "  log of {} ({}): {} operations, {:.8g} {:.8g}, {} marks {:.8g}, {:.8g}, "
        "end {:.8g}\n",
        one.rank, one.name, one.log.arrive.size(), sum(one.log.arrive), sum(one.log.leave),
        one.log.marks.size(), sum(one.log.marks), flights, one.log.end);
  }
  return text;
}

std::string text_of(const Asked& asked) {
  const Replay result = replay_of(asked, point_of(asked));
  const Outcome& outcome = result.outcome;
  return fmt::format("{} {} {} {} {} {} {}\n", asked.machine, asked.grid, asked.what_ifs,
                     asked.options, static_cast<int>(asked.carrier), name(asked.ideal),
                     static_cast<int>(asked.extent)) +
         fmt::format("  seconds {:.8g} compute {:.8g} bubble {:.8g}; {} collectives, {} attempts\n",
                     outcome.total.value, outcome.compute.value, outcome.bubble.value,
                     result.collectives, result.attempts) +
         "  exposed" + by_channel(outcome.channels, outcome.exposed) + "\n  busy" +
         by_channel(outcome.channels, outcome.busy) + '\n' +
         text_of(*result.detail, outcome.channels);
}

TEST(Answers, OfSimulationsAreTheGoldenOnes) {
  std::string text;
  for (const Asked& asked : questions) {
    try {
      text += text_of(asked);
    } catch (const std::exception& error) {
      ADD_FAILURE() << asked.machine << ' ' << asked.grid << ' ' << asked.what_ifs << ": "
                    << error.what();
    }
  }

  expect_golden("simulations.txt", text);
}

}  // namespace
}  // namespace fourfold
