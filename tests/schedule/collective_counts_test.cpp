// The textbook counts of collectives against the fold of their rounds; and which groups can do
// which collective, decided again rule by rule, with what all others hear.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "schedule/collectives/counts.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using enum CollectiveKind;
using Algorithm = CollectiveAlgorithm;

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
int compare(Algorithm algorithm, std::int64_t rings) {
  int compared = 0;
  for (CollectiveKind kind : {all_gather, reduce_scatter, all_reduce}) {
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
  EXPECT_EQ(compare(Algorithm::ring, 1), 3 * 568);
  EXPECT_GT(compare(Algorithm::ring, 2), 3 * 200);
  EXPECT_GT(compare(Algorithm::ring, 4), 3 * 90);
  EXPECT_EQ(compare(Algorithm::recursive, 1), 3 * 28);
  EXPECT_EQ(compare(Algorithm::recursive_doubling, 1), 28);
  EXPECT_EQ(compare(Algorithm::hierarchical, 1), 3 * 130);
}

TEST(CollectiveCounts, TreeFormulasEqualTheFoldOfTheRounds) {
  for (GroupShape shape : shapes()) {
    const CollectiveCounts formula = counts(all_reduce, Algorithm::tree, shape);

    const CollectiveCounts walked =
        fold_program(collective_program(all_reduce, Algorithm::tree, shape));

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
  struct Row {
    Algorithm algorithm;
    std::int64_t across, in_node, buffers, sent_by_node;
  };
  for (const auto& [algorithm, across, in_node, buffers, sent_by_node] :
       {Row{Algorithm::ring, 6, 24, 30, 2 * 15},  // sixteenths
        Row{Algorithm::tree, 4, 6, 30, 0},
        // As few as can be: 2 (N-1)/N of a buffer.
        Row{Algorithm::recursive, 4, 4, 30, 4 * 6},
        Row{Algorithm::hierarchical, 6, 6, 30, 4 * 6}}) {
    const CollectiveCounts c = counts(all_reduce, algorithm, {16, 4});
    EXPECT_EQ(c.hops_across, across) << name(algorithm);
    EXPECT_EQ(c.hops_in_node, in_node) << name(algorithm);
    EXPECT_EQ((c.transfers_across + c.transfers_in_node) / c.chunks, buffers) << name(algorithm);
    EXPECT_TRUE(sent_by_node == 0 || c.sent_by_node == sent_by_node) << name(algorithm);
  }
  EXPECT_EQ(counts(all_reduce, Algorithm::recursive_doubling, {16, 4}).sent_by_member, 4);
}

TEST(CollectiveCounts, CountsOfTheLargestMachineFit) {
  const CollectiveCounts ring = counts(all_reduce, Algorithm::ring, {32768, 4096});

  EXPECT_EQ(ring.hops_across, 2 * 4095);
  EXPECT_EQ(ring.hops_in_node, 2 * 4096 * 7);
  EXPECT_EQ(ring.transfers_across + ring.transfers_in_node, 2LL * 32768 * 32767);
}

bool power_of_two(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power == n;
}

std::string expected(CollectiveKind kind, Algorithm algorithm, std::int64_t members,
                     std::int64_t nodes, std::int64_t rings) {
  if (nodes < 1 || members < nodes) {
    return fmt::format(
        "collective: {} members cannot be spread over {} nodes; every node needs at least one "
        "member",
        members, nodes);
  }
  const bool ring = algorithm == Algorithm::ring;
  const std::string what = fmt::format("{} {}", name(algorithm), name(kind));
  const std::string group =
      fmt::format("{} members on {} node{}", members, nodes, nodes == 1 ? "" : "s");
  const bool even = members % nodes == 0;
  const bool powers = power_of_two(members) && power_of_two(nodes);
  const std::string possible = !even    ? "ring"
                               : powers ? "ring, recursive or hierarchical"
                                        : "ring or hierarchical";
  if (!ring && rings != 1) {
    return fmt::format("collective: a {} is not split over rings; give 1 ring, not {}", what,
                       rings);
  }
  // Each ring leaves the emptiest node from a member of its own.
  const std::int64_t emptiest = members / nodes;
  if (rings < 1 || rings > emptiest) {
    return fmt::format(
        "collective: {} rings cannot each leave a node from another member among {}; give 1 to {}",
        rings, group, emptiest);
  }
  if (kind == send && (members > 2 || !ring || rings != 1)) {
    return fmt::format(
        "collective: a send goes from one member to another, as one ring; not a {} among {}", what,
        group);
  }
  const bool whole = algorithm == Algorithm::tree || algorithm == Algorithm::recursive_doubling;
  if (whole && kind != all_reduce) {
    return fmt::format("collective: only an all-reduce can be {}, not {} {}; use {} for it",
                       name(algorithm), kind == all_gather ? "an" : "a", name(kind), possible);
  }
  const bool pairs =
      algorithm == Algorithm::recursive || algorithm == Algorithm::recursive_doubling;
  if (pairs && !powers) {
    return fmt::format(
        "collective: a {} needs powers of two of members and of nodes, not {}; use {}", what, group,
        possible);
  }
  if (algorithm == Algorithm::hierarchical && !even) {
    return fmt::format("collective: a {} needs equally many members in every node, not {}; use {}",
                       what, group, possible);
  }
  return "";
}

TEST(CollectiveMisfit, IsWhatTheRulesSayWordForWord) {
  for (CollectiveKind kind : {all_gather, reduce_scatter, all_reduce, send}) {
    for (Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::recursive,
                                Algorithm::recursive_doubling, Algorithm::hierarchical}) {
      for (std::int64_t members = 0; members <= 17; ++members) {
        for (std::int64_t nodes = -1; nodes <= members + 1; ++nodes) {
          for (std::int64_t rings = -1; rings <= 5; ++rings) {
            const std::string why = expected(kind, algorithm, members, nodes, rings);
            const GroupShape shape{members, nodes};

            ASSERT_EQ(misfit(kind, algorithm, shape, rings), why);
            if (rings > 2) continue;
            const std::string said = why.empty() ? "accepted" : why;
            ASSERT_EQ(refusal([&] { collective_program(kind, algorithm, shape, rings); }), said);
            ASSERT_EQ(refusal([&] { counts(kind, algorithm, shape, rings); }), said);
          }
        }
      }
    }
  }
  EXPECT_THROW(collective_program(all_gather, Algorithm::ring,
                                  {std::numeric_limits<std::int32_t>::max() / 2, 1}),
               std::invalid_argument);
}

}  // namespace
}  // namespace fourfold::tests
