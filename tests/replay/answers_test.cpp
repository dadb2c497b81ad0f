// Simulations of small jobs under each condition, on each kind of network, in each order and
// fidelity: parts add up, classes of devices are all devices, links carry no more than they can,
// and a machine half as fast takes twice as long.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/conditions/conditions.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/ideal.hpp"
#include "sim/question/point_json.hpp"
#include "sim/question/replay_detail.hpp"
#include "sim/replay/replay.hpp"
#include "tests/outcome_laws.hpp"
#include "tests/slowed_machine.hpp"

namespace fourfold::tests {
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

Replay replay_of(const Asked& asked, const Point& point, const Platform& platform) {
  ReplayOptions options;
  options.extent = asked.extent;
  options.carrier = asked.carrier;
  options.detail = DetailWanted::timeline;
  options.mapping = mapping_of(point, platform);
  options.compute_factors = compute_factors(point, options.mapping);
  options.jitter = jitter_of(point.what_ifs);
  options.faults = {point.what_ifs.degrade, point.what_ifs.fail};
  return replay_step(lower(point, platform, asked.ideal), point.grid, platform, options);
}

// Links of one class are `alike` where none of them is degraded: the busiest has the most bytes.
void expect_sound_detail(const ReplayDetail& detail, const Outcome& outcome, std::int64_t ranks,
                         bool alike, const std::string& words) {
  std::int64_t devices = 0;
  double compute = 0.0;
  std::vector<double> exposed(outcome.channels.size());
  for (const ClassUse& use : detail.classes) {
    devices += use.devices;
    compute += use.compute.value * static_cast<double>(use.devices);
    EXPECT_LE(use.compute.value, detail.longest_compute.value * (1.0 + 1e-9)) << words;
    for (std::size_t c = 0; c < exposed.size(); ++c) {
      exposed[c] += use.exposed[c].value * static_cast<double>(use.devices);
      EXPECT_LE(use.late[c].value, use.exposed[c].value + 1e-9 * outcome.total.value) << words;
    }
  }
  EXPECT_EQ(devices, ranks) << words;
  EXPECT_NEAR(compute / static_cast<double>(ranks), outcome.compute.value,
              1e-6 * outcome.total.value)
      << words;
  for (std::size_t c = 0; c < exposed.size(); ++c) {
    EXPECT_NEAR(exposed[c] / static_cast<double>(ranks), outcome.exposed[c].value,
                1e-6 * outcome.total.value)
        << words << ' ' << name(outcome.channels[c]);
  }
  for (const LinkUse& use : detail.links) {
    EXPECT_LE(use.busiest_utilisation, 1.0 + 1e-6) << words << ' ' << use.link_class;
    EXPECT_LE(use.mean_utilisation, use.busiest_utilisation + 1e-9) << words;
    EXPECT_LE(use.busiest_bytes.value, use.bytes.value * (1.0 + 1e-9)) << words;
    if (!alike) continue;
    EXPECT_GE(use.busiest_bytes.value * static_cast<double>(use.links),
              use.bytes.value * (1.0 - 1e-9))
        << words;
  }
  for (const FlightTimes& times : detail.flights) {
    EXPECT_LE(times.mean.value, times.longest.value * (1.0 + 1e-9)) << words;
  }
  for (const DeviceTimeline& one : detail.timelines) {
    ASSERT_EQ(one.log.arrive.size(), one.log.leave.size());
    for (std::size_t i = 0; i < one.log.arrive.size(); ++i) {
      EXPECT_LE(one.log.arrive[i], one.log.leave[i]) << words;
    }
    EXPECT_LE(one.log.end, outcome.total.value * (1.0 + 1e-6)) << words;
  }
}

TEST(Answers, OfSimulationsAddUpAndTakeTwiceAsLongOnAMachineHalfAsFast) {
  for (const Asked& asked : questions) {
    const std::string words =
        fmt::format("{} {} {} {}", asked.machine, asked.grid, asked.what_ifs, asked.options);
    SCOPED_TRACE(words);
    const Point point = point_of(asked);
    const Platform platform = read_platform(point.platform);

    const Replay found = replay_of(asked, point, platform);
    const Replay slow = replay_of(asked, point, slowed(platform, 2.0));

    expect_parts_within(found.outcome, words);
    expect_times(slow.outcome, found.outcome, 2.0, words, 1e-4);
    EXPECT_EQ(slow.collectives, found.collectives);
    expect_sound_detail(*found.detail, found.outcome, point.grid.size(),
                        point.what_ifs.degrade.empty(), words);
  }
}

// Against the first question, without any condition: what slows a device, a link or a NIC makes the
// step longer; an ideal part makes it shorter.
TEST(Answers, OfSimulationsMoveTheRightWay) {
  const auto seconds = [](const Asked& asked) {
    const Point point = point_of(asked);
    return replay_of(asked, point, read_platform(point.platform)).outcome.total.value;
  };
  const double plain = seconds(questions[0]);
  for (const Asked& asked : questions) {
    if (std::string(asked.machine) != "frontier" || std::string(asked.grid) != "2x2x4x2") continue;
    if (std::string(asked.options) != questions[0].options) continue;
    const std::string what_ifs = asked.what_ifs;
    const bool placed = what_ifs.find("placement") != std::string::npos;
    if (what_ifs == "{}" || placed) continue;
    // A node's plateau may need no more than three of its four NICs.
    const bool matters = what_ifs.find("fail") == std::string::npos;
    EXPECT_GT(seconds(asked), plain * (matters ? 1.0001 : 0.999)) << what_ifs;
  }
}

}  // namespace
}  // namespace fourfold::tests
