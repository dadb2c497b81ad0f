// Every row of the table of collectives, executed: walking its rounds delivers what the row
// promises, and its formulas equal the fold of its rounds. What goes around adds, and is executed
// on provenance instead of numbers: who contributed how often to which chunk.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedule/collectives/collective.hpp"
#include "schedule/collectives/counts.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using Algorithm = CollectiveAlgorithm;
constexpr std::array every_algorithm{Algorithm::ring,         Algorithm::tree,
                                     Algorithm::recursive,    Algorithm::recursive_doubling,
                                     Algorithm::hierarchical, Algorithm::pairwise};

struct Case {
  const KindRow* row = nullptr;
  Algorithm algorithm = Algorithm::ring;
  GroupShape shape;
  std::int64_t rings = 1;

  CollectiveProgram program() const {
    return collective_program(row->kind, algorithm, shape, rings);
  }
  std::string text() const {
    return fmt::format("{} {} of {} members on {} nodes, {} rings", name(algorithm), row->name,
                       shape.members, shape.nodes, rings);
  }
};

// Of every kind that goes around or of every one that does not, by every algorithm, on 1 to 33
// members on any number of nodes, rings up to four times, and on 128 members where powers of two
// matter: all that can be done.
std::vector<Case> cases(bool around) {
  std::vector<Case> all;
  for (const KindRow& row : collective_rows) {
    if ((row.motion == Motion::around) != around) continue;
    const auto add = [&](const Case& c) {
      if (misfit(row.kind, c.algorithm, c.shape, c.rings).empty()) all.push_back(c);
    };
    for (Algorithm algorithm : every_algorithm) {
      for (std::int64_t members = 1; members <= (around ? 33 : 24); ++members) {
        for (std::int64_t nodes = 1; nodes <= members; ++nodes) {
          for (std::int64_t rings = 1; rings <= (around ? 4 : 1); ++rings) {
            add({&row, algorithm, {members, nodes}, rings});
          }
        }
      }
      if (!around || algorithm == Algorithm::ring || algorithm == Algorithm::tree) continue;
      for (std::int64_t nodes = 1; nodes <= 128; nodes *= 8) add({&row, algorithm, {128, nodes}});
    }
  }
  return all;
}

// A chunk by who brings it and to whom it goes; members it must reach.
using Chunks = std::vector<std::pair<std::int64_t, std::set<std::int64_t>>>;

Chunks promised(const Case& moved, const CollectiveProgram& program) {
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
  for (const Case& moved : cases(false)) {
    if (moved.shape.members == 1) continue;
    const CollectiveProgram program = moved.program();
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
  for (const Case& moved : cases(false)) {
    EXPECT_EQ(counts(moved.row->kind, moved.algorithm, moved.shape), fold_program(moved.program()))
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

TEST(CollectiveRows, RefuseAlgorithmsThatCannot) {
  using enum CollectiveKind;
  EXPECT_EQ(
      misfit(all_to_all, Algorithm::ring, {8, 2}),
      "collective: only an all-gather, a reduce-scatter, an all-reduce, a send or a broadcast "
      "can be ring, not an all-to-all; use pairwise or hierarchical for it");
  EXPECT_EQ(misfit(all_to_all_v, Algorithm::hierarchical, {8, 2}),
            "collective: only an all-gather, a reduce-scatter, an all-reduce or an all-to-all can "
            "be hierarchical, not an all-to-all-v; use pairwise for it");
  EXPECT_EQ(misfit(broadcast, Algorithm::recursive, {6, 2}),
            "collective: a recursive broadcast needs powers of two of members and of nodes, not 6 "
            "members on 2 nodes; use ring");
  EXPECT_EQ(misfit(broadcast, Algorithm::ring, {8, 2}, 2),
            "collective: a ring broadcast is not split over rings; give 1 ring, not 2");
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

// How often each member's contribution is in a chunk.
using Provenance = std::array<std::uint8_t, 128>;
using Contents = std::vector<std::vector<Provenance>>;  // [member][chunk]

std::int32_t owner(const CollectiveProgram& program, std::int32_t chunk) {
  return chunk / (program.chunks / static_cast<std::int32_t>(program.shape.members));
}

Provenance only(std::int32_t member) {
  Provenance one{};
  one.at(member) = 1;
  return one;
}

Provenance everybody_once(std::int64_t members) {
  Provenance all{};
  for (std::int32_t member = 0; member < members; ++member) all.at(member) = 1;
  return all;
}

Contents executed(CollectiveKind kind, const CollectiveProgram& program) {
  const auto members = static_cast<std::int32_t>(program.shape.members);
  Contents contents(members, std::vector<Provenance>(program.chunks, Provenance{}));
  for (std::int32_t member = 0; member < members; ++member) {
    for (std::int32_t chunk = 0; chunk < program.chunks; ++chunk) {
      const bool own = kind != CollectiveKind::all_gather || owner(program, chunk) == member;
      if (own) contents[member][chunk] = only(member);
    }
  }
  for (const Pass& pass : program.passes) {
    for (const Round& round : pass) {
      std::vector<Provenance> sent;
      for (const Transfer& transfer : round) {
        sent.push_back(contents.at(transfer.from).at(transfer.chunk));
        EXPECT_NE(sent.back(), Provenance{})
            << "member " << transfer.from << " sends what it lacks";
      }
      for (std::size_t i = 0; i < round.size(); ++i) {
        Provenance& held = contents.at(round[i].to).at(round[i].chunk);
        if (round[i].arrival == Arrival::store) held = Provenance{};
        for (std::size_t member = 0; member < held.size(); ++member)
          held[member] += sent[i][member];
      }
    }
  }
  return contents;
}

// All-gathers bring every part to every member, reduce-scatters leave each member the sum of its
// part, all-reduces the sums of all parts.
TEST(Collective, BringsEachMemberWhatItsKindPromises) {
  for (const Case& c : cases(true)) {
    const CollectiveProgram program = c.program();
    const CollectiveKind kind = c.row->kind;

    const Contents after = executed(kind, program);

    for (std::int32_t member = 0; member < c.shape.members; ++member) {
      for (std::int32_t chunk = 0; chunk < program.chunks; ++chunk) {
        const bool gathers = kind == CollectiveKind::all_gather;
        if (kind == CollectiveKind::reduce_scatter && owner(program, chunk) != member) continue;
        ASSERT_EQ(after[member][chunk],
                  gathers ? only(owner(program, chunk)) : everybody_once(c.shape.members))
            << c.text();
      }
    }
  }
}

std::int64_t nodes_of(std::int64_t first, GroupShape shape, std::int64_t devices_per_node) {
  std::set<std::int64_t> nodes;
  for (std::int64_t i = 0; i < shape.members; ++i) {
    nodes.insert((first + i * shape.stride) / devices_per_node);
  }
  return static_cast<std::int64_t>(nodes.size());
}

// The groups whose devices interleave from device 0 on; the one that lies in most nodes counts.
TEST(PackedGroup, LiesInTheNodesOfItsDevices) {
  for (const std::int64_t per_node : {1, 4, 6, 8, 12}) {
    for (std::int64_t members = 1; members <= 40; ++members) {
      for (std::int64_t stride = 1; stride <= 40; ++stride) {
        const GroupShape shape = packed_group(members, stride, per_node);
        std::int64_t most = 0;
        for (std::int64_t first = 0; first < stride; ++first) {
          most = std::max(most, nodes_of(first, shape, per_node));
        }

        ASSERT_EQ(shape.members, members);
        ASSERT_EQ(shape.stride, stride);
        ASSERT_EQ(shape.nodes, most)
            << members << " members, " << stride << " apart, on nodes of " << per_node;
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
