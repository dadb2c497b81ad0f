// The estimate of a folded program equals that of the program written out and a naive walk by the
// definition; what adds up; and what can never make it faster or slower.
#include "sim/estimate/estimate.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "schedule/fold/short_folds.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/model_file.hpp"
#include "tests/drawn_points.hpp"
#include "tests/points.hpp"
#include "tests/refusal.hpp"
#include "tests/sim/programs.hpp"

namespace fourfold::tests {
namespace {

void expect_alike(const Outcome& a, const Outcome& b) {
  const double scale = 1e-12 * b.total.value;
  EXPECT_NEAR(a.total.value, b.total.value, scale);
  EXPECT_NEAR(a.compute.value, b.compute.value, scale);
  ASSERT_EQ(a.channels, b.channels);
  for (std::size_t c = 0; c < a.channels.size(); ++c) {
    EXPECT_NEAR(a.exposed[c].value, b.exposed[c].value, scale);
    EXPECT_NEAR(a.busy[c].value, b.busy[c].value, 1e-12 * b.busy[c].value + scale);
  }
}

void expect_adds_up(const Outcome& o) {
  EXPECT_NEAR((o.compute + o.exposed_total()).value, o.total.value, 1e-12 * o.total.value);
}

TEST(Estimate, OfLoopsIsThatOfTheProgramWrittenOut) {
  std::mt19937 random(31);
  for (int i = 0; i < 400; ++i) {
    const TimedProgram p = random_program(random, i < 300 ? 3 : 1 + i % 50);

    const Outcome folded = estimate_step(p);

    SCOPED_TRACE("program " + std::to_string(i));
    expect_alike(folded, estimate_step(unrolled(p)));
    EXPECT_NEAR(folded.total.value, naive_seconds(p), 1e-12 * folded.total.value);
    expect_adds_up(folded);
    if (HasFailure()) return;
  }
}

Point point_of(const std::string& platform, const std::string& model, const ProcessGrid& grid,
               std::int64_t micro_batches) {
  return made_up_point(platform, read_model(model), grid, 8192, with_micro_batches(micro_batches));
}

// Of drawn steps, with windows from one block to more than there are in the step.
TEST(Estimate, OfAStepIsThatOfTheStepWrittenOut) {
  int written = 0;
  for (std::int64_t number = 0; number < 150; ++number) {
    DrawnPoint drawn = drawn_point(number, 64);
    if (drawn.point.grid.extent(Axis::pipe) > 1) continue;
    drawn.point.options.in_flight_blocks = 1 + number % 17;
    SCOPED_TRACE(drawn.words + ", " + drawn.step_words);
    TimedProgram p = lower(drawn.point, drawn.platform);
    expect_alike(estimate_step(drawn.point, drawn.platform).outcome, estimate_step(p));
    p.loads.clear();  // what lanes share has tests of its own

    const Outcome folded = estimate_step(p);

    expect_alike(folded, estimate_step(unrolled(p)));
    EXPECT_NEAR(folded.total.value, naive_seconds(p), 1e-12 * folded.total.value);
    expect_adds_up(folded);
    ++written;
  }
  EXPECT_GT(written, 30);
}

// Whatever was measured of more devices.
TEST(Estimate, OfPartOfANodeTakesWhatWasMeasuredOfAsManyDevices) {
  Point point = point_of("frontier", "gpt-5b", ProcessGrid(2, 1, 1, 1), 1);
  point.global_batch = 1;
  Platform platform = read_platform("frontier");
  for (const int devices : {2, 8}) {
    platform.library.measured = {
        {CollectiveKind::all_reduce, 2, devices, {{1.0, {1.0}}, {1e12, {1.0}}}}};

    EXPECT_EQ(estimate_step(point, platform).outcome.total > Seconds{1.0}, devices == 2);
  }
}

// Three stages of a node each: the pair sends below its leaf, and the stage beside it to nobody.
TEST(Estimate, StagesBelowOneLeafDoNotFeelItsLinksUp) {
  const Platform wide = read_platform("selene");
  Platform narrow = wide;
  std::get<FatTreeNetwork>(narrow.network).tiers.front().oversubscription = 1000.0;
  const Point point = made_up_point("selene", {"deep", 6, 1024, 8, 512, 512},
                                    ProcessGrid(8, 1, 1, 1, 3), 6, with_micro_batches(6));

  EXPECT_EQ(estimate_step(point, narrow).outcome.total, estimate_step(point, wide).outcome.total);
}

TEST(Estimate, RefusesAGridThatDoesNotFitInWords) {
  const Platform frontier = read_platform("frontier");
  const Point point = point_of("frontier", "gpt-10b", ProcessGrid(3, 1, 1, 1), 1);

  const std::string why = misfit(point.model, point.grid, point.global_batch, point.options);

  EXPECT_EQ(refusal<std::runtime_error>([&] { estimate_step(point, frontier); }), why);
  EXPECT_EQ(refusal<std::runtime_error>([&] { lower(point, frontier); }), why);
}

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

// Gathers and reduce-scatters have a communicator each, so that neither holds the other up.
TEST(Overlap, IsNeverSlowerThanNoneIfNothingInterferes) {
  for (const char* name : {"perlmutter", "frontier"}) {
    const Platform platform = without_interference(name);
    for (const ProcessGrid& grid : grids) {
      for (std::int64_t m : {1, 4}) {
        Point point = point_on(grid);
        point.options.micro_batches = m;
        point.options.in_flight_blocks = m;
        std::vector<Seconds> seconds;  // by overlaps
        for (int bits = 0; bits < 16; ++bits) {
          point.options.overlap = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                                   (bits & 8) != 0};
          seconds.push_back(total(point, platform));
          EXPECT_LE(seconds.back(), a_little_more(seconds.front()))
              << name << " " << grid.str() << " M=" << m << " overlaps " << bits;
        }
        EXPECT_LE(seconds[15], a_little_more(seconds[13])) << name << " " << grid.str();
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

}  // namespace
}  // namespace fourfold::tests
