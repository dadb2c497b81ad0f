// Tests of collectives whose algorithm is forced: worked sums, what they leave alone, refusals, and
// the words of a tuning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/cost/protocol.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

constexpr BytesPerSecond unlimited{std::numeric_limits<double>::infinity()};
constexpr auto gather = CollectiveKind::all_gather;
constexpr auto reduce = CollectiveKind::all_reduce;

// Round numbers, so that sums can be done by hand. Four devices of a node reach 40 GB/s together
// where each is in a ring of its own.
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

std::string message_of(CollectiveAlgorithm algorithm, const CollectiveTask& task) {
  return refusal([&] { forced_collective(simple_sums(), algorithm, task); });
}

// 16 members on 4 nodes, 1600 B: 10 + 3 x 2 + 3 x 1 us, 1200 B in node at 0.4 x 200 GB/s, and
// 1200 B a node across at 0.1 x 40 GB/s.
TEST(ForcedCollective, SmallHierarchicalGather) {
  const CollectiveChoice choice = forced_collective(
      simple_sums(), CollectiveAlgorithm::hierarchical, {gather, {1600.0}, {16, 4}, unlimited});

  EXPECT_EQ(choice.algorithm, CollectiveAlgorithm::hierarchical);
  EXPECT_EQ(choice.protocol, WireProtocol::low_latency);
  EXPECT_NEAR(choice.cost.delay.value, 19e-6 + 1200.0 / 80e9, 1e-15);
  EXPECT_NEAR(choice.uncontended.value, 19e-6 + 1200.0 / 80e9 + 1200.0 / 4e9, 1e-15);
}

// 16 GB: 10 + 3 x 20 + 3 x 10 us, 12 GB in node at 200 GB/s, then 12 GB across at 40 GB/s.
TEST(ForcedCollective, LargeHierarchicalGather) {
  const CollectiveChoice choice = forced_collective(
      simple_sums(), CollectiveAlgorithm::hierarchical, {gather, {16e9}, {16, 4}, unlimited});

  EXPECT_EQ(choice.protocol, WireProtocol::simple);
  EXPECT_DOUBLE_EQ(choice.cost.work.value, 12e9);
  EXPECT_NEAR(choice.cost.rate_cap.value, 40e9, 1.0);
  EXPECT_NEAR(choice.uncontended.value, 100e-6 + 0.06 + 0.3, 1e-9);
}

// 256 members on 64 nodes: 10 + 2 x (6 x 4 + 2 x 1) us against 10 + 6 x 4 + 2 x 1 us when whole
// buffers are exchanged, which 8 bytes do not notice.
TEST(ForcedCollective, SmallRecursiveAllReduceDoublesWholeBuffers) {
  const CollectiveTask task{reduce, {8.0}, {256, 64}, unlimited};

  const CollectiveChoice choice =
      forced_collective(simple_sums(), CollectiveAlgorithm::recursive, task);

  EXPECT_EQ(choice.algorithm, CollectiveAlgorithm::recursive_doubling);
  EXPECT_NEAR(choice.cost.delay.value, 36e-6, 1e-9);
  EXPECT_LT(choice.uncontended, choose_collective(simple_sums(), task, {}).uncontended);
}

// 4 GB over 16 members on 4 nodes: 10 + 2 x (2 x 30 + 2 x 10) us, 2 x 3 GB in node at 200 GB/s and
// 2 x 3 GB across at 40 GB/s.
TEST(ForcedCollective, LargeRecursiveAllReduceHalvesAndDoubles) {
  const CollectiveChoice choice = forced_collective(simple_sums(), CollectiveAlgorithm::recursive,
                                                    {reduce, {4e9}, {16, 4}, unlimited});

  EXPECT_EQ(choice.algorithm, CollectiveAlgorithm::recursive);
  EXPECT_EQ(choice.protocol, WireProtocol::simple);
  EXPECT_NEAR(choice.uncontended.value, 170e-6 + 0.03 + 0.15, 1e-9);
}

// With exponent 2 both times are sides of a right-angled triangle: 3 x 20 + 3 x 10 = 90 us of hops
// beside 4 MB in node at 200 GB/s and 4 MB across at 40 GB/s, 20 + 100 us, are 150 us.
TEST(ForcedCollective, SimpleHierarchicalOverlapsByTheExponent) {
  CollectiveLibrary library = simple_sums();
  library.overlap_exponent = 2.0;

  const CollectiveChoice choice = forced_collective(library, CollectiveAlgorithm::hierarchical,
                                                    {gather, {16e6 / 3}, {16, 4}, unlimited});

  EXPECT_EQ(choice.protocol, WireProtocol::simple);
  EXPECT_NEAR(choice.uncontended.value, 10e-6 + 150e-6, 1e-12);
}

// Up and down over 4 nodes of 4 members: 10 + 2 x 2 x 2 x 2 us across and 2 x 3 x 1 us in node, and
// 2 x 8 B at 0.05 x 70 GB/s.
TEST(ForcedCollective, SmallTree) {
  const CollectiveChoice choice = forced_collective(simple_sums(), CollectiveAlgorithm::tree,
                                                    {reduce, {8.0}, {16, 4}, unlimited});

  EXPECT_EQ(choice.protocol, WireProtocol::low_latency);
  EXPECT_NEAR(choice.cost.delay.value, 32e-6, 1e-15);
  EXPECT_NEAR(choice.uncontended.value, 32e-6 + 16.0 / 3.5e9, 1e-15);
}

// 4 GB: 10 + 2 x 2 x 1.5 x 20 us across, 2 x 3 x 1 us in node, where a simple tree keeps the pace
// of low latency, and 2 x 4 GB at 0.8 of 70 GB/s; on slower links at 0.8 of theirs.
TEST(ForcedCollective, LargeTree) {
  const CollectiveChoice choice = forced_collective(simple_sums(), CollectiveAlgorithm::tree,
                                                    {reduce, {4e9}, {16, 4}, unlimited});

  EXPECT_EQ(choice.protocol, WireProtocol::simple);
  EXPECT_NEAR(choice.cost.delay.value, 136e-6, 1e-12);
  EXPECT_NEAR(choice.uncontended.value, 136e-6 + 8e9 / 56e9, 1e-9);
  EXPECT_NEAR(uncontended(choice.cost, {10e9}).value, 136e-6 + 1.0, 1e-9);
}

TEST(ForcedCollective, HierarchicalInOneNodeIsItsRing) {
  const CollectiveTask task{gather, {1e9}, {4, 1}, unlimited};

  const CollectiveChoice ring = forced_collective(simple_sums(), CollectiveAlgorithm::ring, task);
  const CollectiveChoice hierarchical =
      forced_collective(simple_sums(), CollectiveAlgorithm::hierarchical, task);

  EXPECT_DOUBLE_EQ(hierarchical.uncontended.value, ring.uncontended.value);
  EXPECT_EQ(hierarchical.cost.rate_cap, ring.cost.rate_cap);
}

TEST(ForcedCollective, AutomaticChoiceIsTheBetterOfRingAndTree) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> log_bytes(0.0, 10.0);
  const CollectiveLibrary library = read_platform("perlmutter").library;
  for (int i = 0; i < 2000; ++i) {
    const auto nodes = static_cast<std::int64_t>(2 + random() % 200);
    const auto per_node = static_cast<std::int64_t>(1 + random() % 4);
    const CollectiveTask task{
        reduce, {std::pow(10.0, log_bytes(random))}, {nodes * per_node, nodes}, {50e9}};

    const CollectiveChoice free = choose_collective(library, task, {});
    const CollectiveChoice ring = forced_collective(library, CollectiveAlgorithm::ring, task);
    const CollectiveChoice tree = forced_collective(library, CollectiveAlgorithm::tree, task);

    ASSERT_EQ(free.uncontended, std::min(ring.uncontended, tree.uncontended));
  }
}

TEST(ForcedCollective, NeverFasterWithMoreBytesOrSlowerLinks) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> log_bytes(0.0, 10.0);
  std::uniform_real_distribution<double> log_rate(8.0, 11.5);
  const std::vector<Platform> machines{read_platform("perlmutter"), read_platform("frontier"),
                                       read_platform("alps")};
  for (int i = 0; i < 5000; ++i) {
    const CollectiveLibrary& library = machines[random() % machines.size()].library;
    const auto algorithm =
        random() % 2 == 0 ? CollectiveAlgorithm::recursive : CollectiveAlgorithm::hierarchical;
    const std::int64_t nodes = std::int64_t{1} << random() % 8;
    const std::int64_t per_node = std::int64_t{1} << random() % 4;
    const CollectiveTask task{static_cast<CollectiveKind>(random() % 3),
                              {std::pow(10.0, log_bytes(random))},
                              {nodes * per_node, nodes},
                              {std::pow(10.0, log_rate(random))}};
    CollectiveTask longer = task;
    longer.buffer = task.buffer * 1.1;
    CollectiveTask slower = task;
    slower.link_rate = task.link_rate * 0.9;

    const CollectiveChoice choice = forced_collective(library, algorithm, task);

    const Seconds least = choice.uncontended * (1.0 - 1e-12);
    ASSERT_GE(choice.cost.delay, Seconds{});
    ASSERT_EQ(choice.uncontended, uncontended(choice.cost, task.link_rate));
    ASSERT_GE(forced_collective(library, algorithm, longer).uncontended, least);
    ASSERT_GE(forced_collective(library, algorithm, slower).uncontended, least);
  }
}

TEST(ForcedCollective, GroupOfOneCostsNothing) {
  for (CollectiveAlgorithm algorithm :
       {CollectiveAlgorithm::ring, CollectiveAlgorithm::tree, CollectiveAlgorithm::recursive,
        CollectiveAlgorithm::hierarchical}) {
    const CollectiveChoice choice =
        forced_collective(simple_sums(), algorithm, {reduce, {1e9}, {1, 1}, unlimited});

    EXPECT_EQ(choice.uncontended, Seconds{});
  }
}

TEST(ForcedCollective, RefusesWhatTheGroupCannotDo) {
  const std::string tree =
      message_of(CollectiveAlgorithm::tree, {gather, {1.0}, {8, 2}, unlimited});
  const std::string six =
      message_of(CollectiveAlgorithm::recursive, {reduce, {1.0}, {6, 2}, unlimited});
  const std::string uneven =
      message_of(CollectiveAlgorithm::hierarchical, {reduce, {1.0}, {7, 2}, unlimited});
  const std::string negative =
      message_of(CollectiveAlgorithm::ring, {reduce, {-1.0}, {8, 2}, unlimited});

  EXPECT_THAT(tree, HasSubstr("use ring, recursive or hierarchical"));
  EXPECT_THAT(six, HasSubstr("powers of two"));
  EXPECT_THAT(uneven, HasSubstr("use ring"));
  EXPECT_THAT(negative, HasSubstr("must not be negative"));
}

TEST(CollectiveTuning, IsForTheKindItNames) {
  const CollectiveTuning tuning = collective_tuning("all-reduce:tree");
  const CollectiveLibrary library = simple_sums();
  const CollectiveTask large{reduce, {16e9}, {16, 4}, unlimited};
  const CollectiveTask other{gather, {16e9}, {16, 4}, unlimited};

  const CollectiveChoice reduced = choose_collective(library, large, tuning);
  const CollectiveChoice gathered = choose_collective(library, other, tuning);

  EXPECT_EQ(choose_collective(library, large, {}).algorithm, CollectiveAlgorithm::ring);
  EXPECT_EQ(reduced.algorithm, CollectiveAlgorithm::tree);
  EXPECT_EQ(gathered.uncontended, choose_collective(library, other, {}).uncontended);
  EXPECT_THROW(choose_collective(library, other, collective_tuning("tree")), std::invalid_argument);
}

TEST(CollectiveTuning, WordsAndBack) {
  for (const std::string words :
       {"auto", "ring", "tree", "recursive", "hierarchical", "all-gather:recursive",
        "reduce-scatter:hierarchical", "all-reduce:ring"}) {
    EXPECT_EQ(name(collective_tuning(words)), words);
  }
  EXPECT_EQ(collective_tuning("auto"), CollectiveTuning{});
  EXPECT_EQ(collective_tuning("all-reduce:auto"), CollectiveTuning{});
}

TEST(CollectiveTuning, UnknownWordsNameTheNearest) {
  const auto message = [](const std::string& words) {
    return refusal<std::runtime_error>([&] { collective_tuning(words); });
  };

  EXPECT_THAT(message("hierarchicall"), HasSubstr("did you mean \"hierarchical\"?"));
  EXPECT_THAT(message("auot"), HasSubstr("\"auto\""));
  EXPECT_THAT(message("allreduce:ring"), HasSubstr("\"all-reduce\""));
  EXPECT_THAT(message("all-reduce:three"), HasSubstr("\"tree\""));
  EXPECT_THAT(message(""), HasSubstr("no collective algorithm ''"));
}

}  // namespace
}  // namespace fourfold::tests
