// Tests of the cost of a collective, chosen or forced: worked sums, choice of protocol, monotony,
// refusals, and measured rows that the constants must not miss by far; it is long because each
// regime has its sum.
#include "sim/cost/protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

constexpr BytesPerSecond unlimited{std::numeric_limits<double>::infinity()};
constexpr auto gather = CollectiveKind::all_gather;
constexpr auto reduce = CollectiveKind::all_reduce;
constexpr auto ring = CollectiveAlgorithm::ring;
constexpr auto tree = CollectiveAlgorithm::tree;
constexpr auto recursive = CollectiveAlgorithm::recursive;
constexpr auto hierarchical = CollectiveAlgorithm::hierarchical;
constexpr auto doubling = CollectiveAlgorithm::recursive_doubling;

// Round numbers, so that sums can be done by hand.
CollectiveLibrary simple_sums() {
  CollectiveLibrary library;
  library.base_across = {10e-6};
  library.base_in_node = {5e-6};
  library.low_latency = {.hop_across = {2e-6},
                         .hop_in_node = {1e-6},
                         .bandwidth_fraction_across = 0.1,
                         .bandwidth_fraction_in_node = 0.4,
                         .tree_hop_factor = 2.0,
                         .tree_bandwidth_fraction = 0.05};
  library.simple = {.hop_across = {20e-6},
                    .hop_in_node = {10e-6},
                    .tree_hop_factor = 1.5,
                    .tree_bandwidth_fraction = 0.8};
  library.overlap_exponent = 1.0;
  library.across = {{1, {10e9}}, {4, {70e9}}};
  library.in_node = {{4, {200e9}}};
  return library;
}

double microseconds(const CollectiveLibrary& library, CollectiveKind kind, double bytes,
                    GroupShape shape, BytesPerSecond link_rate = unlimited) {
  return choose_collective(library, kind, {bytes}, shape, link_rate).uncontended.value * 1e6;
}

// The rate that a large all-gather is capped at.
double cap(const CollectiveLibrary& library, GroupShape shape) {
  return choose_collective(library, gather, {1e12}, shape, unlimited).cost.rate_cap.value;
}

TEST(Protocol, WhatWasMeasuredOnAsManyMembersAndDevicesGoesFirst) {
  CollectiveLibrary library = simple_sums();
  library.measured = {{reduce, 2, 4, {{1000.0, {10e-6}}, {100'000.0, {1000e-6}}}}};
  CollectiveTask task{reduce, {10'000.0}, {2, 1}, unlimited, 4};
  const auto microseconds = [&](double bytes) {
    task.buffer = {bytes};
    return choose_collective(library, task, {}).uncontended.value * 1e6;
  };

  EXPECT_NEAR(microseconds(10'000.0), 100.0, 1e-6);        // between, by logarithms
  EXPECT_NEAR(microseconds(1.0), 10.0, 1e-6);              // latency
  EXPECT_NEAR(microseconds(1'000'000.0), 10'000.0, 1e-6);  // in proportion
  EXPECT_NEAR(choose_collective(library, task, {}).beside_kernels.value, 0.01, 1e-12);
  library.interference = 0.2;  // of the rate beyond the latency
  EXPECT_NEAR(choose_collective(library, task, {}).beside_kernels.value,
              10e-6 + (0.01 - 10e-6) / 0.8, 1e-12);
}

// Of another kind, on more or fewer members or devices, over nodes or of nothing at all it is as if
// nothing had been measured.
TEST(Protocol, WhatWasMeasuredCountsForNothingElse) {
  CollectiveLibrary library = simple_sums();
  const CollectiveTask measured{reduce, {10'000.0}, {2, 1}, unlimited, 4};
  std::vector<CollectiveTask> others(7, measured);
  others[0].kind = gather;
  others[1].kind = CollectiveKind::reduce_scatter;
  others[2].shape = {3, 1};
  others[3].devices = 3;
  others[4].devices = 5;
  others[5].shape = {2, 2};
  others[6].buffer = {0.0};
  const auto cost = [&](const CollectiveTask& task) {
    return choose_collective(library, task, {}).cost;
  };
  std::vector<CollectiveCost> without;
  for (const CollectiveTask& task : others) without.push_back(cost(task));
  const CollectiveCost by_constants = cost(measured);

  library.measured = {{reduce, 2, 4, {{1e3, {1.0}}, {1e6, {2.0}}}}};

  EXPECT_GT(cost(measured).delay.value, 0.5);
  EXPECT_LT(by_constants.delay.value, 0.5);
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_EQ(cost(others[i]).delay, without[i].delay) << i;
    EXPECT_EQ(cost(others[i]).work, without[i].work) << i;
    EXPECT_EQ(cost(others[i]).rate_cap, without[i].rate_cap) << i;
  }
}

// What members send of it, at the rate that the rest of the time leaves; on slower links later.
TEST(Protocol, WhatWasMeasuredIsLatencyAndBytesThatMembersSend) {
  CollectiveLibrary library = simple_sums();
  library.measured = {{reduce, 4, 4, {{1e3, {10e-6}}, {1e6, {110e-6}}}},
                      {gather, 4, 4, {{1e3, {10e-6}}, {1e6, {110e-6}}}}};
  const auto choice = [&](CollectiveKind kind, double bytes, double rate) {
    return choose_collective(library, {kind, {bytes}, {4, 1}, {rate}, 4}, {});
  };

  const CollectiveChoice reduced = choice(reduce, 1e6, 1e15);
  EXPECT_NEAR(reduced.cost.delay.value, 10e-6, 1e-15);
  EXPECT_NEAR(reduced.cost.work.value, 1.5e6, 1e-6);
  EXPECT_NEAR(reduced.cost.rate_cap.value, 1.5e6 / 100e-6, 1.0);
  EXPECT_NEAR(choice(gather, 1e6, 1e15).cost.work.value, 0.75e6, 1e-6);
  EXPECT_NEAR(choice(reduce, 1e6, 1e9).uncontended.value, 10e-6 + 1.5e-3, 1e-9);
  // The smallest buffer has no time left for its bytes but a thousandth.
  const CollectiveChoice small = choice(reduce, 500.0, 1e15);
  EXPECT_NEAR(small.cost.delay.value, 0.999 * 10e-6, 1e-15);
  EXPECT_NEAR(small.uncontended.value, 10e-6, 1e-15);
}

TEST(Protocol, AForcedAlgorithmGoesBeforeWhatWasMeasured) {
  CollectiveLibrary library = simple_sums();
  const CollectiveTask task{gather, {1e6}, {4, 1}, unlimited, 4};
  CollectiveTuning tuning = collective_tuning("recursive");
  const CollectiveChoice without = choose_collective(library, task, tuning);

  library.measured = {{gather, 4, 4, {{1e3, {1.0}}, {1e6, {2.0}}}}};

  EXPECT_EQ(choose_collective(library, task, tuning).uncontended, without.uncontended);
  EXPECT_EQ(choose_collective(library, task, tuning).algorithm, recursive);
  tuning.only = reduce;
  EXPECT_DOUBLE_EQ(choose_collective(library, task, tuning).uncontended.value, 2.0);
}

// What the library chooses, or is forced to.
struct Sum {
  CollectiveKind kind;
  double bytes;
  GroupShape shape;
  std::optional<CollectiveAlgorithm> forced;
  CollectiveAlgorithm algorithm;
  WireProtocol protocol;
  double delay, sending;  // seconds
};

TEST(Protocol, IsTheSumOfItsHopsAndBytes) {
  constexpr auto quick = WireProtocol::low_latency, simple = WireProtocol::simple;
  const std::vector<Sum> sums{
      // 16 members on 4 nodes: 10 + 3 x 2 + 12 x 1 us of latency and 1500 B at 7 GB/s; of 16 GB
      // 10 + 3 x 20 + 12 x 10 us, then 15 GB at 70 GB/s.
      {gather, 1600.0, {16, 4}, {}, ring, quick, 28e-6, 1500.0 / 7e9},
      {gather, 16e9, {16, 4}, {}, ring, simple, 190e-6, 15e9 / 70e9},
      // 4 members in one node: 5 + 3 x 1 us and 300 B at 0.4 x 200 GB/s; an all-reduce has no tree.
      {gather, 400.0, {4, 1}, {}, ring, quick, 8e-6, 300.0 / 80e9},
      {reduce, 4e9, {4, 1}, {}, ring, simple, 65e-6, 6e9 / 200e9},
      // 256 nodes, one member each: 10 + 2 x 8 x 4 us up and down a tree, a ring's 2 x 255 x 2 us.
      {reduce, 8.0, {256, 256}, {}, tree, quick, 74e-6, 16.0 / 0.5e9},
      // In one node a hierarchy is its ring.
      {gather, 1e9, {4, 1}, hierarchical, hierarchical, simple, 35e-6, 0.75e9 / 200e9},
      // 10 + 3 x 2 + 3 x 1 us, 1200 B in node at 0.4 x 200 GB/s, and 1200 B a node across at 0.1 x
      // 40 GB/s; of 16 GB 10 + 3 x 20 + 3 x 10 us, 12 GB in node and 12 GB across at 40 GB/s.
      {gather, 1600.0, {16, 4}, hierarchical, hierarchical, quick, 19e-6 + 15e-9, 300e-9},
      {gather, 16e9, {16, 4}, hierarchical, hierarchical, simple, 100e-6 + 0.06, 0.3},
      // Whole buffers are exchanged, which 8 bytes hardly notice: 10 + 6 x 4 + 2 x 1 us, twice 8 B
      // in node, and six times four of them a node across.
      {reduce, 8.0, {256, 64}, recursive, doubling, quick, 36e-6 + 16.0 / 80e9, 192.0 / 4e9},
      // 10 + 2 x (2 x 30 + 2 x 10) us, 2 x 3 GB in node at 200 GB/s and 2 x 3 GB across at 40 GB/s.
      {reduce, 4e9, {16, 4}, recursive, recursive, simple, 170e-6 + 0.03, 0.15},
      // 10 + 2 x 2 x 2 x 2 us across and 2 x 3 x 1 us in node, and 2 x 8 B at 0.05 x 70 GB/s; of
      // 4 GB 10 + 2 x 2 x 1.5 x 20 us, 2 x 3 x 1 us in node, where a simple tree keeps the pace of
      // low latency, and 2 x 4 GB at 0.8 of 70 GB/s.
      {reduce, 8.0, {16, 4}, tree, tree, quick, 32e-6, 16.0 / 3.5e9},
      {reduce, 4e9, {16, 4}, tree, tree, simple, 136e-6, 8e9 / 56e9}};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    SCOPED_TRACE(i);
    const Sum& sum = sums[i];
    const CollectiveTask task{sum.kind, {sum.bytes}, sum.shape, unlimited};

    const CollectiveChoice choice = choose_collective(simple_sums(), task, {sum.forced, {}});

    EXPECT_EQ(choice.algorithm, sum.algorithm);
    EXPECT_EQ(choice.protocol, sum.protocol);
    EXPECT_NEAR(choice.cost.delay.value, sum.delay, 1e-9 * sum.delay);
    EXPECT_NEAR(choice.uncontended.value - choice.cost.delay.value, sum.sending,
                1e-6 * sum.sending);
    if (sum.protocol == simple && sum.algorithm != tree) {
      EXPECT_NEAR(choice.cost.work.value / choice.cost.rate_cap.value, sum.sending, 1e-9);
    }
  }
}

// On links slower than its cap: 2 x 4 GB at 0.8 of 10 GB/s.
TEST(Protocol, OfATreeKeepsItsPartOfSlowerLinks) {
  const CollectiveTask task{reduce, {4e9}, {16, 4}, {10e9}};

  EXPECT_NEAR(forced_collective(simple_sums(), tree, task).uncontended.value, 136e-6 + 1.0, 1e-9);
}

// With exponent 2 both times are sides of a right-angled triangle. 3 x 20 + 12 x 10 = 180 us of
// hops and 16.8 MB at 70 GB/s, 240 us, take 300 us; 9.45 MB, 135 us, take 225 us.
TEST(Protocol, LatencyAndBandwidthOfASimpleRingOverlapByTheExponent) {
  CollectiveLibrary library = simple_sums();
  library.overlap_exponent = 2.0;

  const CollectiveChoice large = choose_collective(library, gather, {17.92e6}, {16, 4}, unlimited);
  const CollectiveChoice small = choose_collective(library, gather, {10.08e6}, {16, 4}, unlimited);
  const CollectiveChoice slow = choose_collective(library, gather, {8.96e6}, {16, 4}, {35e9});

  for (const CollectiveChoice& choice : {large, small, slow}) {
    EXPECT_EQ(choice.protocol, WireProtocol::simple);
  }
  EXPECT_NEAR(large.cost.delay.value, 10e-6 + (300e-6 - 240e-6), 1e-12);
  EXPECT_NEAR(large.uncontended.value, 10e-6 + 300e-6, 1e-12);
  EXPECT_NEAR(small.uncontended.value, 10e-6 + 225e-6, 1e-12);
  EXPECT_NEAR(slow.uncontended.value, 10e-6 + 300e-6, 1e-12);  // half the bytes at half the rate
  // 3 x 20 + 3 x 10 us of hops beside 4 MB in node and 4 MB across, 20 + 100 us.
  const CollectiveChoice in_nodes =
      forced_collective(library, hierarchical, {gather, {16e6 / 3}, {16, 4}, unlimited});
  EXPECT_NEAR(in_nodes.uncontended.value, 10e-6 + 150e-6, 1e-12);
}

TEST(Protocol, PlateauIsInterpolatedInDevicesPerNode) {
  EXPECT_NEAR(cap(simple_sums(), {8, 4}), 30e9, 1.0);
  EXPECT_NEAR(cap(simple_sums(), {10, 4}), 40e9, 1.0);
  EXPECT_NEAR(cap(simple_sums(), {32, 4}), 70e9, 1.0);
}

// Four devices of a node at once: the less of what a group has alone and its part of the node; or
// of what was measured at once.
TEST(Protocol, DevicesThatShareANodeHaveNoMoreThanTheyHaveAlone) {
  CollectiveLibrary library = simple_sums();
  library.across = {{1, {30e9}}, {4, {60e9}}, {8, {64e9}}};

  library.sharing_a_node = 4;
  EXPECT_NEAR(cap(library, {4, 4}), 15e9, 1.0);   // a quarter of a node
  EXPECT_NEAR(cap(library, {8, 4}), 30e9, 1.0);   // half of it, below 40 alone
  EXPECT_NEAR(cap(library, {16, 4}), 60e9, 1.0);  // all of it
  EXPECT_NEAR(cap(library, {32, 4}), 60e9, 1.0);  // more than share it, and still a whole node's
  library.sharing_a_node = 2;
  EXPECT_NEAR(cap(library, {4, 4}), 20e9, 1.0);  // half of 40
  EXPECT_NEAR(cap(library, {16, 4}), 40e9, 1.0);
  library.across_at_once = {{1, {50e9}}, {4, {55e9}}};
  EXPECT_NEAR(cap(library, {4, 4}), 30e9, 1.0);  // alone it has no more
  EXPECT_NEAR(cap(library, {16, 4}), 55e9, 1.0);
  library.sharing_a_node = 0;
  EXPECT_NEAR(cap(library, {16, 4}), 60e9, 1.0);
}

// A job on few devices of its nodes has what they hinder each other, and one on a device a node
// all.
TEST(Protocol, ADeviceAloneOnItsNodeHasWhatARingHasAlone) {
  CollectiveLibrary library = simple_sums();
  library.across = {{1, {10.8e9}}, {8, {72.4e9}}};
  const auto beside = [&](int busy) {
    library.sharing_a_node = busy;
    return cap(library, {4, 4});
  };
  for (const bool measured : {false, true}) {
    if (measured) library.across_at_once = {{1, {4.85e9}}, {8, {72.4e9}}};
    EXPECT_NEAR(beside(1), 10.8e9, 1.0);
    for (int busy = 2; busy <= 8; ++busy) EXPECT_LE(beside(busy), beside(busy - 1) * (1.0 + 1e-12));
    EXPECT_LT(beside(8), 10.8e9);
  }
  EXPECT_NEAR(beside(8), 4.85e9, 1.0);
}

// Whatever few devices of a node would make of the fraction, it is of the plateau at most.
TEST(Protocol, NoFractionOfThePlateauIsMoreThanAllOfIt) {
  CollectiveLibrary library = simple_sums();
  library.simple.bandwidth_fraction_across = 0.9;
  library.simple.bandwidth_exponent_across = 0.5;

  EXPECT_NEAR(cap(library, {16, 4}), 0.9 * 70e9, 1.0);
  EXPECT_NEAR(cap(library, {4, 4}), 10e9, 1.0);  // 0.9 x root of 7 of it would be more
  EXPECT_NEAR(cap(library, {14, 4}), 60e9 * std::min(1.0, 0.9 * std::sqrt(70.0 / 60.0)), 1.0);
}

TEST(Protocol, StrideChoosesThePlateauInsideANode) {
  CollectiveLibrary library = simple_sums();
  library.in_node_by_stride = {{2, 2, {50e9}}, {2, 4, {72e9}}};

  EXPECT_DOUBLE_EQ(cap(library, {4, 1, 1}), 200e9);
  EXPECT_DOUBLE_EQ(cap(library, {4, 1, 2}), 72e9);
  EXPECT_DOUBLE_EQ(cap(library, {4, 1, 3}), 200e9);
}

// Flags double what goes over the wire: on links below its cap a low-latency ring is half as fast.
TEST(Protocol, LowLatencySendsTwiceThePayload) {
  EXPECT_NEAR(microseconds(simple_sums(), gather, 16.0, {16, 4}, {1e6}), 28 + 2 * 15.0, 1e-6);
}

TEST(Protocol, GroupOfOneCostsNothing) {
  for (const char* words : {"auto", "ring", "tree", "recursive", "hierarchical"}) {
    const CollectiveChoice choice = choose_collective(
        simple_sums(), {reduce, {1e9}, {1, 1}, unlimited}, collective_tuning(words));

    EXPECT_EQ(choice.uncontended, Seconds{}) << words;
    EXPECT_EQ(uncontended(choice.cost, {1.0}), Seconds{}) << words;
  }
}

// By the constants, on any nodes; forced on what the algorithms can do, powers of two.
TEST(Protocol, NeverFasterWithMoreBytesSlowerLinksOrMoreNodes) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> log_bytes(0.0, 10.0);
  std::uniform_real_distribution<double> log_rate(8.0, 11.5);
  std::vector<CollectiveLibrary> libraries;
  for (const char* machine : {"perlmutter", "frontier", "alps"}) {
    libraries.push_back(read_platform(machine).library);
    libraries.back().measured.clear();
  }
  const std::vector<CollectiveTuning> tunings{{}, {}, {}, {recursive, {}}, {hierarchical, {}}};
  for (int i = 0; i < 20000; ++i) {
    const CollectiveLibrary& library = libraries[random() % libraries.size()];
    const CollectiveTuning& tuning = tunings[random() % tunings.size()];
    const bool forced = tuning.algorithm.has_value();
    const auto nodes = static_cast<std::int64_t>(forced ? 1 << random() % 8 : 1 + random() % 200);
    const auto per_node = static_cast<std::int64_t>(forced ? 1 << random() % 4 : 1 + random() % 8);
    const CollectiveTask task{static_cast<CollectiveKind>(random() % 3),
                              {std::pow(10.0, log_bytes(random))},
                              {nodes * per_node, nodes},
                              {std::pow(10.0, log_rate(random))}};
    CollectiveTask longer = task, slower = task, wider = task;
    longer.buffer = task.buffer * 1.1;
    slower.link_rate = task.link_rate * 0.9;
    wider.shape = {(nodes + 1) * per_node, nodes + 1};

    const CollectiveChoice choice = choose_collective(library, task, tuning);

    const Seconds least = choice.uncontended * (1.0 - 1e-12);
    ASSERT_GE(choice.cost.delay, Seconds{});
    ASSERT_EQ(choice.uncontended, uncontended(choice.cost, task.link_rate));
    ASSERT_GE(choose_collective(library, longer, tuning).uncontended, least);
    ASSERT_GE(choose_collective(library, slower, tuning).uncontended, least);
    if (forced) continue;
    ASSERT_GE(choose_collective(library, wider, tuning).uncontended, least);
    if (task.kind != reduce || nodes == 1) continue;
    ASSERT_EQ(choice.uncontended, std::min(forced_collective(library, ring, task).uncontended,
                                           forced_collective(library, tree, task).uncontended));
  }
}

struct Measured {
  CollectiveKind kind;
  std::int64_t nodes;
  double bytes;
  double microseconds;
  double factor;  // how far off the model may be
};

void expect_near_rows(const CollectiveLibrary& library, const std::vector<Measured>& rows) {
  for (const Measured& row : rows) {
    const double modelled = microseconds(library, row.kind, row.bytes, {4 * row.nodes, row.nodes},
                                         BytesPerSecond{50e9});

    EXPECT_LT(modelled, row.microseconds * row.factor)
        << name(row.kind) << ", " << row.nodes << ", " << row.bytes;
    EXPECT_GT(modelled, row.microseconds / row.factor)
        << name(row.kind) << ", " << row.nodes << ", " << row.bytes;
  }
}

// Polaris has Perlmutter's node with half the NICs. Its NCCL was measured on up to 540 nodes, far
// beyond the 8 the constants come from: Argonne, alcf-nccl-tests, results_polaris, setting 4, on
// 540 nodes setting 5. Nothing below entered the constants but the plateau (36.4 GB/s, 8 nodes, 1
// GiB). Gathers below 64 MB on 256 nodes and more are left out: there the model is four times too
// fast.
TEST(Protocol, PerlmuttersConstantsCarryToPolaris) {
  Platform polaris = read_platform("perlmutter");
  polaris.library.across = {{1, {14.5e9}}, {4, {36.4e9}}};
  expect_near_rows(polaris.library, {{reduce, 2, 134217728.0, 6646.8, 1.1},
                                     {reduce, 8, 134217728.0, 7224.2, 1.1},
                                     {reduce, 256, 134217728.0, 11102.0, 1.2},
                                     {reduce, 540, 134217728.0, 11243.0, 1.2},
                                     {reduce, 256, 1073741824.0, 70722.0, 1.1},
                                     {reduce, 540, 1073741824.0, 73737.0, 1.1},
                                     {reduce, 256, 1048576.0, 757.4, 1.5},
                                     {reduce, 540, 1048576.0, 1134.0, 1.5},
                                     {gather, 2, 134217728.0, 3355.8, 1.1},
                                     {gather, 8, 134217728.0, 3709.7, 1.1},
                                     {gather, 256, 1073741824.0, 43736.0, 1.2},
                                     {gather, 540, 1073710080.0, 93818.0, 2.0}});
}

// The same source; Polaris' own hops were chosen on 2 and 256 nodes, setting 4 and 5 alike.
TEST(Protocol, PolarisIsMetOnNodesThatItsHopsWereNotChosenOn) {
  expect_near_rows(read_platform("polaris").library, {{gather, 8, 65536.0, 218.2, 1.25},
                                                      {gather, 540, 34560.0, 17165.0, 1.1},
                                                      {gather, 540, 16761600.0, 21972.0, 1.1},
                                                      {gather, 540, 134196480.0, 61793.0, 1.3},
                                                      {gather, 540, 1073710080.0, 93818.0, 1.4}});
}

// RCCL on LUMI inside a training job, a GCD a node (spyysalo/lumi-llm-scaling @7314958); 2, 8 and
// 32 nodes were left out of the choice of constants.
TEST(Protocol, EightRingsOfTheSameNodesShareWhatOneHasAlone) {
  const CollectiveLibrary together = read_platform("lumi").library;
  CollectiveLibrary alone = together;
  alone.sharing_a_node = 0;

  EXPECT_NEAR(microseconds(together, gather, 1401946112.0, {2, 2}) / 149950, 1.0, 0.06);
  EXPECT_NEAR(microseconds(together, gather, 1401904169.0, {8, 8}) / 255500, 1.0, 0.06);
  EXPECT_NEAR(microseconds(together, reduce, 2928672768.0, {32, 32}) / 1143900, 1.0, 0.06);
  EXPECT_NEAR(microseconds(alone, reduce, 2928672768.0, {2, 2}) / 271560, 1.0, 0.06);
  EXPECT_NEAR(microseconds(alone, reduce, 2928672768.0, {32, 32}) / 529510, 1.0, 0.06);
}

// CSCS documentation, NCCL all-reduce of 8 GPUs on 2 nodes of Alps, where a ring or tree of our
// forms applies; larger messages gain from sending only one buffer between two nodes.
TEST(Protocol, AlpsIsPlausible) {
  const Platform alps = read_platform("alps");

  EXPECT_NEAR(microseconds(alps.library, reduce, 65536.0, {8, 2}) / 61.0, 1.0, 0.25);
  EXPECT_NEAR(microseconds(alps.library, reduce, 1048576.0, {8, 2}) / 164.0, 1.0, 0.25);
  EXPECT_NEAR(microseconds(alps.library, reduce, 16777216.0, {8, 2}) / 462.0, 1.0, 0.25);
}

TEST(Protocol, RefusesWhatCannotBeCosted) {
  const CollectiveLibrary library = simple_sums();
  CollectiveLibrary empty = library;
  empty.across.clear();
  const auto chosen = [](const CollectiveLibrary& of, double bytes, GroupShape shape, double rate) {
    return refusal([&] { choose_collective(of, gather, {bytes}, shape, {rate}); });
  };
  const auto forced = [&](CollectiveAlgorithm algorithm, const CollectiveTask& task) {
    return refusal([&] { forced_collective(library, algorithm, task); });
  };

  EXPECT_EQ(chosen(library, 1.0, {8, 2}, 1.0), "accepted");
  EXPECT_THAT(chosen(library, -1.0, {8, 2}, 1.0), HasSubstr("must not be negative"));
  EXPECT_NE(chosen(library, std::nan(""), {8, 2}, 1.0), "accepted");
  EXPECT_NE(chosen(library, 1.0, {8, 2}, 0.0), "accepted");
  EXPECT_NE(chosen(library, 1.0, {2, 8}, 1.0), "accepted");
  EXPECT_NE(chosen(empty, 1.0, {8, 2}, 1.0), "accepted");
  EXPECT_THAT(forced(tree, {gather, {1.0}, {8, 2}, unlimited}),
              HasSubstr("use ring, recursive or hierarchical"));
  EXPECT_THAT(forced(recursive, {reduce, {1.0}, {6, 2}, unlimited}), HasSubstr("powers of two"));
  EXPECT_THAT(forced(hierarchical, {reduce, {1.0}, {7, 2}, unlimited}), HasSubstr("use ring"));
  EXPECT_NE(forced(ring, {reduce, {-1.0}, {8, 2}, unlimited}), "accepted");
}

TEST(CollectiveTuning, IsForTheKindItNames) {
  const CollectiveTuning tuning = collective_tuning("all-reduce:tree");
  const CollectiveLibrary library = simple_sums();
  const CollectiveTask large{reduce, {16e9}, {16, 4}, unlimited};
  const CollectiveTask other{gather, {16e9}, {16, 4}, unlimited};

  EXPECT_EQ(choose_collective(library, large, {}).algorithm, ring);
  EXPECT_EQ(choose_collective(library, large, tuning).algorithm, tree);
  EXPECT_EQ(choose_collective(library, other, tuning).uncontended,
            choose_collective(library, other, {}).uncontended);
  EXPECT_THROW(choose_collective(library, other, collective_tuning("tree")), std::invalid_argument);
}

}  // namespace
}  // namespace fourfold::tests
