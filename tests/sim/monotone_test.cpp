// What can never make an estimate faster or slower: overlaps, slower parts, axes of extent 1.
#include <gtest/gtest.h>

#include <random>

#include "schedule/models/model_file.hpp"
#include "sim/estimate/estimate.hpp"

namespace fourfold::tests {
namespace {

// Grids of 512 devices that gpt-5b fits (32 heads, hidden 4096), some inside nodes, some across.
const std::vector<ProcessGrid> grids{{4, 2, 4, 16},  {1, 1, 512, 1}, {8, 8, 2, 4},
                                     {2, 4, 8, 8},   {1, 4, 1, 128}, {32, 1, 16, 1},
                                     {1, 16, 16, 2}, {2, 1, 1, 256}};

Point point_on(const ProcessGrid& grid) {
  Point point;
  point.model = read_model("gpt-5b");
  point.grid = grid;
  return point;
}

Seconds total(const Point& point, const Platform& platform) {
  return estimate_step(point, platform).outcome.total;
}

Platform without_interference(const std::string& name) {
  Platform platform = read_platform(name);
  platform.processor.interference = 0;
  platform.library.interference = 0;
  return platform;
}

// Rounding of sums taken in another order.
Seconds a_little_more(Seconds seconds) {
  return seconds * (1 + 1e-12);
}

TEST(Overlap, IsNeverSlowerThanNoneIfNothingInterferes) {
  for (const char* name : {"perlmutter", "frontier"}) {
    const Platform platform = without_interference(name);
    for (const ProcessGrid& grid : grids) {
      for (std::int64_t m : {1, 4}) {
        Point point = point_on(grid);
        point.options.micro_batches = m;
        point.options.overlap = {false, false, false, false};
        const Seconds none = total(point, platform);
        for (int bits = 1; bits < 16; ++bits) {
          point.options.overlap = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                                   (bits & 8) != 0};
          EXPECT_LE(total(point, platform), a_little_more(none))
              << name << " " << grid.str() << " M=" << m << " overlaps " << bits;
        }
      }
    }
  }
}

// Gathers and reduce-scatters have a communicator each, so that neither holds the other up.
TEST(Overlap, OfReduceScattersAndGathersIsNeverWorseThanOfGathersAlone) {
  for (const char* name : {"perlmutter", "frontier"}) {
    const Platform platform = without_interference(name);
    for (const ProcessGrid& grid : grids) {
      for (std::int64_t window : {1, 2, 4}) {
        Point point = point_on(grid);
        point.options.in_flight_blocks = window;
        point.options.overlap = {true, false, true, true};
        const Seconds gathers = total(point, platform);
        point.options.overlap.reduce_scatter = true;

        EXPECT_LE(total(point, platform), a_little_more(gathers))
            << name << " " << grid.str() << " window " << window;
      }
    }
  }
}

// Facts that say how fast something is; scaled down they never make an estimate faster. (Detours
// and links per pair spread traffic, and interference and fractions are no speeds.)
const std::vector<std::string> speeds{
    "processor.gemm.rate_Tflops",          "processor.attention_forward_Tflops",
    "processor.attention_backward_Tflops", "processor.memory_bandwidth_GBps",
    "node.links.bandwidth_GBps",           "node.nics.bandwidth_GBps",
    "network.link_bandwidth_GBps",         "library.across.bus_bandwidth_GBps",
    "library.in_node.bus_bandwidth_GBps"};
const std::vector<std::string> delays{"processor.launch_overhead_us",
                                      "software.dispatch_us",
                                      "library.base_across_us",
                                      "library.base_in_node_us",
                                      "library.low_latency.hop_across_us",
                                      "library.low_latency.hop_in_node_us",
                                      "library.simple.hop_across_us",
                                      "library.simple.hop_in_node_us"};

TEST(Estimate, IsNeverFasterOnASlowerMachine) {
  std::mt19937 random(41);
  const auto fraction = [&random] {
    return 0.2 + 0.8 * static_cast<double>(random() % 1000) / 1000;
  };
  for (const char* name : {"perlmutter", "frontier"}) {
    const Platform platform = read_platform(name);
    for (int i = 0; i < 100; ++i) {
      Point point = point_on(grids[random() % grids.size()]);
      point.options.micro_batches = 1 << random() % 4;
      Scales slower;
      for (int k = 0; k < 2; ++k) {
        slower[speeds[random() % speeds.size()]] = fraction();
        slower[delays[random() % delays.size()]] = 1 / fraction();
      }
      std::string scaled;
      for (const auto& [key, factor] : slower) scaled += key + " " + std::to_string(factor) + ", ";

      EXPECT_GE(a_little_more(total(point, read_platform(name, slower))), total(point, platform))
          << name << " " << point.grid.str() << " M=" << point.options.micro_batches << " "
          << scaled;
    }
  }
}

TEST(Estimate, HasNoTermOfAnAxisOfExtentOne) {
  const Platform platform = read_platform("frontier");
  for (const ProcessGrid& grid : grids) {
    const Estimate e = estimate_step(point_on(grid), platform);
    for (std::size_t i = 0; i < e.outcome.channels.size(); ++i) {
      const Channel& channel = e.outcome.channels[i];
      const bool cut = grid.extent(channel.axis) > 1;
      EXPECT_EQ(e.outcome.busy[i].value > 0, cut) << grid.str() << " " << name(channel);
      EXPECT_EQ(e.counts.sent[i].value > 0, cut) << grid.str() << " " << name(channel);
      EXPECT_TRUE(cut || e.outcome.exposed[i].value == 0) << grid.str() << " " << name(channel);
    }
  }
}

TEST(Estimate, OfOneDeviceIsComputeAlone) {
  const Outcome o = estimate_step(point_on(ProcessGrid()), read_platform("frontier")).outcome;

  EXPECT_EQ(o.total, o.compute);
  EXPECT_EQ(o.exposed_total().value, 0);
}

}  // namespace
}  // namespace fourfold::tests
