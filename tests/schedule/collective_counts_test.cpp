// Holds the textbook counts of collectives against the fold of their rounds, and tests refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "schedule/collectives/counts.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

constexpr std::array all_kinds{CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                               CollectiveKind::all_reduce};

std::string text(GroupShape shape) {
  return std::to_string(shape.members) + " members on " + std::to_string(shape.nodes) + " nodes";
}

std::vector<GroupShape> shapes() {
  std::vector<GroupShape> result;
  for (std::int64_t members = 1; members <= 33; ++members) {
    for (std::int64_t nodes = 1; nodes <= members; ++nodes) result.push_back({members, nodes});
  }
  for (std::int64_t nodes = 1; nodes <= 64; nodes *= 2) result.push_back({64, nodes});
  return result;
}

// Of every shape the algorithm can do; returns how many there were.
int compare(CollectiveAlgorithm algorithm, std::int64_t rings) {
  int compared = 0;
  for (CollectiveKind kind : all_kinds) {
    for (GroupShape shape : shapes()) {
      if (!misfit(kind, algorithm, shape, rings).empty()) continue;
      const CollectiveCounts formula = counts(kind, algorithm, shape, rings);

      const CollectiveCounts walked =
          fold_program(collective_program(kind, algorithm, shape, rings));

      EXPECT_EQ(formula, walked) << name(algorithm) << " " << name(kind) << ", " << text(shape);
      ++compared;
    }
  }
  return compared;
}

TEST(CollectiveCounts, FormulasEqualTheFoldOfTheRounds) {
  EXPECT_EQ(compare(CollectiveAlgorithm::ring, 1), 3 * 568);
  EXPECT_GT(compare(CollectiveAlgorithm::ring, 2), 3 * 200);
  EXPECT_GT(compare(CollectiveAlgorithm::ring, 4), 3 * 90);
  EXPECT_EQ(compare(CollectiveAlgorithm::recursive, 1), 3 * 28);
  EXPECT_EQ(compare(CollectiveAlgorithm::recursive_doubling, 1), 28);
  EXPECT_EQ(compare(CollectiveAlgorithm::hierarchical, 1), 3 * 130);
}

TEST(CollectiveCounts, OfARingAreThePartThatEveryMemberSends) {
  for (CollectiveKind kind : all_kinds) {
    for (std::int64_t members : {1, 2, 3, 8, 100}) {
      const CollectiveCounts ring = counts(kind, CollectiveAlgorithm::ring, {members, 1});

      EXPECT_DOUBLE_EQ(part_sent(kind, members),
                       static_cast<double>(ring.sent_by_member) / static_cast<double>(ring.chunks));
    }
  }
}

TEST(CollectiveCounts, TreeFormulasEqualTheFoldOfTheRounds) {
  for (GroupShape shape : shapes()) {
    const CollectiveCounts formula =
        counts(CollectiveKind::all_reduce, CollectiveAlgorithm::tree, shape);

    const CollectiveCounts walked = fold_program(
        collective_program(CollectiveKind::all_reduce, CollectiveAlgorithm::tree, shape));

    if (shape.members % shape.nodes == 0) {
      EXPECT_EQ(formula, walked) << text(shape);
    } else {
      EXPECT_EQ(formula.transfers_across, walked.transfers_across) << text(shape);
      EXPECT_EQ(formula.transfers_in_node, walked.transfers_in_node) << text(shape);
      EXPECT_GE(formula.sent_by_member, walked.sent_by_member) << text(shape);
      const std::int64_t excess =
          formula.hops_across + formula.hops_in_node - walked.hops_across - walked.hops_in_node;
      EXPECT_GE(excess, 0) << text(shape);
      EXPECT_LE(excess, 2) << text(shape);
    }
  }
}

// 4 nodes of 4: a ring passes 3 gaps between nodes and 4 x 3 inside; ring, tree and hierarchical
// move 2 (n - 1) buffers in all.
TEST(CollectiveCounts, WorkedExampleOfFourNodesWithFourMembers) {
  const GroupShape shape{16, 4};
  const auto reduce = [&](CollectiveAlgorithm algorithm) {
    return counts(CollectiveKind::all_reduce, algorithm, shape);
  };

  const CollectiveCounts gather =
      counts(CollectiveKind::all_gather, CollectiveAlgorithm::ring, shape);
  const CollectiveCounts ring = reduce(CollectiveAlgorithm::ring);
  const CollectiveCounts tree = reduce(CollectiveAlgorithm::tree);
  const CollectiveCounts halving = reduce(CollectiveAlgorithm::recursive);
  const CollectiveCounts doubling = reduce(CollectiveAlgorithm::recursive_doubling);
  const CollectiveCounts hierarchical = reduce(CollectiveAlgorithm::hierarchical);

  EXPECT_EQ(gather.hops_across, 3);
  EXPECT_EQ(gather.hops_in_node, 12);
  EXPECT_EQ(tree.hops_across, 4);
  EXPECT_EQ(tree.hops_in_node, 6);
  EXPECT_EQ(halving.hops_across + halving.hops_in_node, 8);
  EXPECT_EQ(doubling.hops_across + doubling.hops_in_node, 4);
  EXPECT_EQ(hierarchical.hops_across, 6);
  EXPECT_EQ(hierarchical.hops_in_node, 6);
  for (const CollectiveCounts& c : {ring, tree, halving, hierarchical}) {
    EXPECT_EQ((c.transfers_across + c.transfers_in_node) / c.chunks, 30);
  }
  EXPECT_EQ(doubling.sent_by_member, 4);   // whole buffers
  EXPECT_EQ(ring.sent_by_node, 2 * 15);    // sixteenths
  EXPECT_EQ(halving.sent_by_node, 4 * 6);  // as few as can be: 2 (N-1)/N of a buffer
  EXPECT_EQ(hierarchical.sent_by_node, 4 * 6);
}

// Frontier's node: four NICs for eight devices. Four rings leave it evenly, each with a quarter.
TEST(CollectiveCounts, SeveralRingsShareWhatLeavesANode) {
  const GroupShape shape{64, 8};

  const CollectiveCounts one = counts(CollectiveKind::all_gather, CollectiveAlgorithm::ring, shape);
  const CollectiveCounts four =
      counts(CollectiveKind::all_gather, CollectiveAlgorithm::ring, shape, 4);

  EXPECT_EQ(one.sent_across_by_member, 63);
  EXPECT_EQ(four.sent_across_by_member, 63);
  EXPECT_EQ(four.chunks, 4 * one.chunks);
  EXPECT_EQ(four.sent_by_node, 4 * one.sent_by_node);
  EXPECT_EQ(four.hops_across, one.hops_across);
  EXPECT_EQ(four.hops_in_node, one.hops_in_node);
}

TEST(CollectiveCounts, CountsOfTheLargestMachineFit) {
  const CollectiveCounts ring =
      counts(CollectiveKind::all_reduce, CollectiveAlgorithm::ring, {32768, 4096});

  EXPECT_EQ(ring.hops_across, 2 * 4095);
  EXPECT_EQ(ring.hops_in_node, 2 * 4096 * 7);
  EXPECT_EQ(ring.transfers_across + ring.transfers_in_node, 2LL * 32768 * 32767);
}

TEST(CollectiveCounts, RefusesImpossibleGroups) {
  const auto ring = CollectiveAlgorithm::ring;

  EXPECT_THROW(counts(CollectiveKind::all_gather, ring, {2, 3}), std::invalid_argument);
  EXPECT_THROW(counts(CollectiveKind::all_gather, ring, {0, 0}), std::invalid_argument);
  EXPECT_THROW(collective_program(CollectiveKind::all_gather, ring, {2, 0}), std::invalid_argument);
  EXPECT_THROW(counts(CollectiveKind::all_gather, CollectiveAlgorithm::tree, {4, 2}),
               std::invalid_argument);
  EXPECT_THROW(collective_program(CollectiveKind::all_gather, ring,
                                  {std::numeric_limits<std::int32_t>::max() / 2, 1}),
               std::invalid_argument);
}

TEST(CollectiveCounts, RefusalsNameWhatWouldBeRight) {
  const auto gather = CollectiveKind::all_gather;
  const auto reduce = CollectiveKind::all_reduce;

  const std::string tree = misfit(gather, CollectiveAlgorithm::tree, {8, 2});
  const std::string six = misfit(reduce, CollectiveAlgorithm::recursive, {6, 2});
  const std::string three_nodes = misfit(reduce, CollectiveAlgorithm::recursive_doubling, {8, 3});
  const std::string uneven = misfit(gather, CollectiveAlgorithm::hierarchical, {7, 2});
  const std::string rings = misfit(gather, CollectiveAlgorithm::ring, {8, 4}, 3);
  const std::string tree_rings = misfit(reduce, CollectiveAlgorithm::tree, {8, 2}, 2);

  EXPECT_THAT(misfit(gather, CollectiveAlgorithm::tree, {7, 2}), HasSubstr("; use ring for it"));
  EXPECT_THAT(tree, HasSubstr("only an all-reduce can be tree, not an all-gather; use ring, rec"));
  EXPECT_THAT(six, HasSubstr("recursive all-reduce needs powers of two of members and of nodes, "
                             "not 6 members on 2 nodes; use ring or hierarchical"));
  EXPECT_THAT(three_nodes, HasSubstr("8 members on 3 nodes; use ring"));
  EXPECT_THAT(uneven, HasSubstr("equally many members in every node, not 7 members on 2 nodes"));
  EXPECT_THAT(rings, HasSubstr("8 members on 4 nodes; give 1 to 2"));
  EXPECT_THAT(tree_rings, HasSubstr("give 1 ring, not 2"));
  EXPECT_EQ(misfit(reduce, CollectiveAlgorithm::recursive, {8, 2}), "");
}

}  // namespace
}  // namespace fourfold::tests
