// Which groups can do which collective, decided again rule by rule, and what all others hear; and
// what a message counts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "schedule/collectives/counts.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using enum CollectiveKind;
using Algorithm = CollectiveAlgorithm;

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
}

TEST(CollectiveCounts, OfAMessageAreThoseOfItsOneTransfer) {
  for (std::int64_t nodes : {1, 2}) {
    const GroupShape shape{2, nodes};
    const CollectiveProgram program = collective_program(send, Algorithm::ring, shape);
    const CollectiveCounts counted = counts(send, Algorithm::ring, shape);

    EXPECT_EQ(counted, fold_program(program));
    EXPECT_EQ(counted.sent_by_member, 1);
    EXPECT_EQ(counted.sent_by_node, nodes - 1);
    EXPECT_EQ(counted.hops_across, nodes - 1);
    EXPECT_EQ(counted.hops_in_node, 2 - nodes);
    ASSERT_EQ(program.passes.size(), 1U);
    ASSERT_EQ(program.passes[0].size(), 1U);
    ASSERT_EQ(program.passes[0][0].size(), 1U);
    EXPECT_EQ(program.passes[0][0][0].from, 0);
    EXPECT_EQ(program.passes[0][0][0].to, 1);
    EXPECT_EQ(program.passes[0][0][0].arrival, Arrival::store);
  }
  EXPECT_EQ(part_sent(send, 2), 1.0);
  EXPECT_EQ(counts(send, Algorithm::ring, {1, 1}), CollectiveCounts());
}

TEST(CollectiveNames, AreThoseThatPeopleType) {
  EXPECT_STREQ(name(all_gather), "all-gather");
  EXPECT_STREQ(name(reduce_scatter), "reduce-scatter");
  EXPECT_STREQ(name(all_reduce), "all-reduce");
  EXPECT_STREQ(name(send), "send");
  EXPECT_STREQ(name(Algorithm::ring), "ring");
  EXPECT_STREQ(name(Algorithm::tree), "tree");
  EXPECT_STREQ(name(Algorithm::recursive), "recursive");
  EXPECT_STREQ(name(Algorithm::recursive_doubling), "recursive-doubling");
  EXPECT_STREQ(name(Algorithm::hierarchical), "hierarchical");
}

}  // namespace
}  // namespace fourfold::tests
