// Every row of the table of collectives: walking its rounds delivers what the row promises, its
// formulas equal the fold of its rounds, and what a group cannot do is said. What goes around adds
// (collective_test.cpp); here are those that move.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedule/collectives/counts.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using Algorithm = CollectiveAlgorithm;
constexpr std::array every_algorithm{Algorithm::ring,         Algorithm::tree,
                                     Algorithm::recursive,    Algorithm::recursive_doubling,
                                     Algorithm::hierarchical, Algorithm::pairwise};

struct Moved {
  const KindRow* row = nullptr;
  Algorithm algorithm = Algorithm::ring;
  GroupShape shape;

  std::string text() const {
    return fmt::format("{} {} of {} members on {} nodes", name(algorithm), row->name, shape.members,
                       shape.nodes);
  }
};

// Of every kind that does not go around, by every algorithm, in every shape it can do.
std::vector<Moved> all_moved() {
  std::vector<Moved> all;
  for (const KindRow& row : collective_rows) {
    if (row.motion == Motion::around) continue;
    for (Algorithm algorithm : every_algorithm) {
      for (std::int64_t members = 1; members <= 24; ++members) {
        for (std::int64_t nodes = 1; nodes <= members; ++nodes) {
          const GroupShape shape{members, nodes};
          if (misfit(row.kind, algorithm, shape).empty()) all.push_back({&row, algorithm, shape});
        }
      }
    }
  }
  return all;
}

// A chunk by who brings it and to whom it goes; members it must reach.
using Chunks = std::vector<std::pair<std::int64_t, std::set<std::int64_t>>>;

Chunks promised(const Moved& moved, const CollectiveProgram& program) {
  const std::int64_t n = moved.shape.members;
  Chunks chunks;
  switch (moved.row->motion) {
    case Motion::pairs:
      for (std::int64_t from = 0; from < n; ++from) {
        for (std::int64_t to = 0; to < n; ++to) chunks.push_back({from, {to}});
      }
      break;
    case Motion::neighbours:
      for (std::int64_t from = 0; from < n; ++from) {
        chunks.push_back({from, from > 0 ? std::set{from - 1} : std::set<std::int64_t>{}});
        chunks.push_back({from, from + 1 < n ? std::set{from + 1} : std::set<std::int64_t>{}});
      }
      break;
    default: {
      std::set<std::int64_t> all;
      for (std::int64_t member = 0; member < n; ++member) all.insert(member);
      chunks.assign(static_cast<std::size_t>(program.chunks), {0, all});
    }
  }
  return chunks;
}

TEST(CollectiveRows, WalkingTheRoundsDeliversWhatTheRowPromises) {
  std::map<std::string, int> walked;
  for (const Moved& moved : all_moved()) {
    if (moved.shape.members == 1) continue;
    const CollectiveProgram program =
        collective_program(moved.row->kind, moved.algorithm, moved.shape);
    const Chunks chunks = promised(moved, program);
    ASSERT_EQ(std::ssize(chunks), program.names) << moved.text();
    std::vector<std::set<std::int64_t>> holders;
    for (const auto& [from, to] : chunks) holders.push_back({from});

    for (const Pass& pass : program.passes) {
      for (const Round& round : pass) {
        const auto before = holders;
        for (const Transfer& transfer : round) {
          const auto chunk = static_cast<std::size_t>(transfer.chunk);
          ASSERT_TRUE(before[chunk].contains(transfer.from)) << moved.text();
          ASSERT_FALSE(holders[chunk].contains(transfer.to)) << "twice, " << moved.text();
          ASSERT_EQ(transfer.arrival, Arrival::store);
          holders[chunk].insert(transfer.to);
        }
      }
    }

    for (std::size_t i = 0; i < chunks.size(); ++i) {
      for (std::int64_t member : chunks[i].second) {
        ASSERT_TRUE(holders[i].contains(member)) << moved.text();
      }
    }
    ++walked[fmt::format("{} {}", name(moved.algorithm), moved.row->name)];
  }
  EXPECT_EQ(walked.size(), 7U);  // a send, three all-to-alls, two broadcasts, an exchange
}

TEST(CollectiveRows, FormulasEqualTheFoldOfTheRounds) {
  for (const Moved& moved : all_moved()) {
    EXPECT_EQ(counts(moved.row->kind, moved.algorithm, moved.shape),
              fold_program(collective_program(moved.row->kind, moved.algorithm, moved.shape)))
        << moved.text();
  }
}

// What a bus bandwidth counts is what the busiest member sends, and the mean is what all send.
TEST(CollectiveRows, PartSentIsThatOfTheLeanestAlgorithm) {
  for (const KindRow& row : collective_rows) {
    for (std::int64_t members : {2, 3, 8, 16}) {
      if (row.motion == Motion::one_way && members > 2) continue;
      const GroupShape shape{members, 1};
      const Algorithm lean =
          row.algorithms.contains(Algorithm::ring) ? Algorithm::ring : Algorithm::pairwise;
      const CollectiveCounts counted = counts(row.kind, lean, shape);
      const auto chunks = static_cast<double>(counted.chunks);
      const auto all = static_cast<double>(counted.transfers_in_node);

      EXPECT_DOUBLE_EQ(part_sent(row.kind, members),
                       static_cast<double>(counted.sent_by_member) / chunks)
          << row.name;
      EXPECT_NEAR(part_sent(row.kind, members) * senders(row.kind, members),
                  all / chunks / static_cast<double>(members), 1e-12)
          << row.name;
    }
  }
}

TEST(CollectiveRows, StandInTheOrderOfTheirKindsUnderNamesOfTheirOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < collective_rows.size(); ++i) {
    const KindRow& row = collective_rows[i];
    EXPECT_EQ(static_cast<std::size_t>(row.kind), i);
    EXPECT_EQ(kind_named(row.name, collective_rows), row.kind);
    names.insert({row.name, row.word});
  }
  EXPECT_EQ(kind_named("all-to-al", collective_rows), std::nullopt);
  EXPECT_EQ(kind_named("broadcast", around_rows), std::nullopt);
  for (const KindRow& row : around_rows) EXPECT_EQ(row.motion, Motion::around);
  EXPECT_GE(names.size(), collective_rows.size());
}

TEST(CollectiveRows, RefuseAlgorithmsThatCannot) {
  const auto said = [](CollectiveKind kind, Algorithm algorithm, GroupShape shape,
                       std::int64_t rings = 1) { return misfit(kind, algorithm, shape, rings); };
  EXPECT_EQ(
      said(CollectiveKind::all_to_all, Algorithm::ring, {8, 2}),
      "collective: only an all-gather, a reduce-scatter, an all-reduce, a send or a broadcast "
      "can be ring, not an all-to-all; use pairwise or hierarchical for it");
  EXPECT_EQ(said(CollectiveKind::all_to_all_v, Algorithm::hierarchical, {8, 2}),
            "collective: only an all-gather, a reduce-scatter, an all-reduce or an all-to-all can "
            "be hierarchical, not an all-to-all-v; use pairwise for it");
  EXPECT_EQ(said(CollectiveKind::broadcast, Algorithm::recursive, {6, 2}),
            "collective: a recursive broadcast needs powers of two of members and of nodes, not 6 "
            "members on 2 nodes; use ring");
  EXPECT_EQ(said(CollectiveKind::broadcast, Algorithm::ring, {8, 2}, 2),
            "collective: a ring broadcast is not split over rings; give 1 ring, not 2");
  EXPECT_EQ(
      said(CollectiveKind::neighbour_exchange, Algorithm::tree, {8, 2}),
      "collective: only an all-reduce can be tree, not a neighbour-exchange; use pairwise for "
      "it");
}

TEST(UnequalParts, AreHeldUpByTheLargest) {
  EXPECT_EQ(skew({2.0, 2.0, 2.0}, 3), 1.0);
  EXPECT_EQ(skew({6.0, 0.0, 0.0}, 3), 3.0);
  EXPECT_EQ(skew({1.0, 3.0}, 2), 1.5);
  EXPECT_EQ(refusal([] {
              skew({1.0, 2.0}, 3);
            }),
            "collective: 2 parts for 3 members; give one for each member");
  EXPECT_EQ(refusal([] {
              skew({1.0, -2.0}, 2);
            }),
            "collective: a part of -2.000000; it must not be negative");
  EXPECT_EQ(refusal([] { skew({0.0, 0.0}, 2); }), "collective: all parts are 0; one must be more");
}

}  // namespace
}  // namespace fourfold::tests
