// Executes collectives on provenance instead of numbers: who contributed how often to which chunk.
#include "schedule/collectives/collective.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fourfold::tests {
namespace {

// How often each member's contribution is in a chunk.
using Provenance = std::array<std::uint8_t, 128>;
using Contents = std::vector<std::vector<Provenance>>;  // [member][chunk]

struct Case {
  CollectiveKind kind;
  CollectiveAlgorithm algorithm;
  GroupShape shape;
  std::int64_t rings = 1;
};

std::string text(const Case& c) {
  return std::string(name(c.algorithm)) + " " + name(c.kind) + ", " +
         std::to_string(c.shape.members) + " members on " + std::to_string(c.shape.nodes) +
         " nodes, " + std::to_string(c.rings) + " rings";
}

constexpr std::array all_algorithms{
    CollectiveAlgorithm::ring, CollectiveAlgorithm::tree, CollectiveAlgorithm::recursive,
    CollectiveAlgorithm::recursive_doubling, CollectiveAlgorithm::hierarchical};

// Every algorithm that can do `kind` on 1 to 33 members on any number of nodes, rings up to four
// times, and on 128 members where powers of two matter.
std::vector<Case> cases(CollectiveKind kind) {
  std::vector<Case> result;
  const auto add = [&](const Case& c) {
    if (misfit(c.kind, c.algorithm, c.shape, c.rings).empty()) result.push_back(c);
  };
  for (CollectiveAlgorithm algorithm : all_algorithms) {
    for (std::int64_t members = 1; members <= 33; ++members) {
      for (std::int64_t nodes = 1; nodes <= members; ++nodes) {
        for (std::int64_t rings = 1; rings <= 4; ++rings) {
          add({kind, algorithm, {members, nodes}, rings});
        }
      }
    }
  }
  for (std::int64_t nodes = 1; nodes <= 128; nodes *= 8) {
    add({kind, CollectiveAlgorithm::recursive, {128, nodes}});
    add({kind, CollectiveAlgorithm::recursive_doubling, {128, nodes}});
    add({kind, CollectiveAlgorithm::hierarchical, {128, nodes}});
  }
  return result;
}

CollectiveProgram program_of(const Case& c) {
  return collective_program(c.kind, c.algorithm, c.shape, c.rings);
}

std::int32_t owner(const CollectiveProgram& program, std::int32_t chunk) {
  return chunk / (program.chunks / static_cast<std::int32_t>(program.shape.members));
}

Provenance nobody() {
  return {};
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
  Contents contents(members, std::vector<Provenance>(program.chunks, nobody()));
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
        EXPECT_NE(sent.back(), nobody()) << "member " << transfer.from << " sends what it lacks";
      }
      for (std::size_t i = 0; i < round.size(); ++i) {
        Provenance& held = contents.at(round[i].to).at(round[i].chunk);
        if (round[i].arrival == Arrival::store) held = nobody();
        for (std::size_t member = 0; member < held.size(); ++member)
          held[member] += sent[i][member];
      }
    }
  }
  return contents;
}

TEST(Collective, AllGatherBringsEveryPartToEveryMember) {
  for (const Case& c : cases(CollectiveKind::all_gather)) {
    const CollectiveProgram program = program_of(c);

    const Contents after = executed(c.kind, program);

    for (std::int32_t member = 0; member < c.shape.members; ++member) {
      for (std::int32_t chunk = 0; chunk < program.chunks; ++chunk) {
        ASSERT_EQ(after[member][chunk], only(owner(program, chunk))) << text(c);
      }
    }
  }
}

TEST(Collective, ReduceScatterLeavesEachMemberTheSumOfItsPart) {
  for (const Case& c : cases(CollectiveKind::reduce_scatter)) {
    const CollectiveProgram program = program_of(c);

    const Contents after = executed(c.kind, program);

    for (std::int32_t chunk = 0; chunk < program.chunks; ++chunk) {
      ASSERT_EQ(after[owner(program, chunk)][chunk], everybody_once(c.shape.members)) << text(c);
    }
  }
}

TEST(Collective, AllReduceSumsEveryChunkOnceEverywhere) {
  for (const Case& c : cases(CollectiveKind::all_reduce)) {
    const CollectiveProgram program = program_of(c);

    const Contents after = executed(c.kind, program);

    for (const auto& member : after) {
      for (const Provenance& chunk : member) {
        ASSERT_EQ(chunk, everybody_once(c.shape.members)) << text(c);
      }
    }
  }
}

// What the cases above leave out would pass unseen. Of the 561 shapes of 1 to 33 members 21 have
// powers of two of members and nodes, and 123 equally many members in every node.
TEST(Collective, EveryAlgorithmIsAmongTheCases) {
  std::map<CollectiveAlgorithm, int> found;
  int several_rings = 0;

  for (const Case& c : cases(CollectiveKind::all_reduce)) {
    ++found[c.algorithm];
    if (c.rings > 1) ++several_rings;
  }

  EXPECT_EQ(found[CollectiveAlgorithm::ring] - several_rings, 561);
  EXPECT_GT(several_rings, 400);
  EXPECT_EQ(found[CollectiveAlgorithm::tree], 561);
  EXPECT_EQ(found[CollectiveAlgorithm::recursive], 21 + 3);
  EXPECT_EQ(found[CollectiveAlgorithm::recursive_doubling], 21 + 3);
  EXPECT_EQ(found[CollectiveAlgorithm::hierarchical], 123 + 3);
}

TEST(Collective, NoNodeHasMoreThanTwoChildrenInBothTrees) {
  for (std::int64_t nodes = 2; nodes <= 70; ++nodes) {
    const CollectiveProgram program =
        collective_program(CollectiveKind::all_reduce, CollectiveAlgorithm::tree, {nodes, nodes});

    std::map<std::int32_t, int> children;
    for (const Round& round : program.passes.at(1)) {
      for (const Transfer& transfer : round) ++children[transfer.from];
    }

    for (const auto& [node, count] : children) {
      EXPECT_LE(count, 2) << "node " << node << " of " << nodes;
    }
  }
}

// So that each has a NIC of its own.
TEST(Collective, EveryRingLeavesANodeFromAnotherMember) {
  const CollectiveProgram program =
      program_of({CollectiveKind::all_gather, CollectiveAlgorithm::ring, {24, 3}, 4});

  std::map<std::int64_t, std::set<std::int32_t>> leaving;
  for (const Transfer& transfer : program.passes.at(0).at(0)) {
    const std::int64_t from = node_of(program.shape, transfer.from);
    if (from != node_of(program.shape, transfer.to)) leaving[from].insert(transfer.from);
  }

  EXPECT_EQ(leaving[0], (std::set<std::int32_t>{1, 3, 5, 7}));
  EXPECT_EQ(leaving[2], (std::set<std::int32_t>{17, 19, 21, 23}));
}

TEST(Collective, PairsExchangeInEveryRecursiveRound) {
  const CollectiveProgram program =
      program_of({CollectiveKind::all_reduce, CollectiveAlgorithm::recursive, {32, 8}});

  for (const Pass& pass : program.passes) {
    for (const Round& round : pass) {
      std::set<std::pair<std::int32_t, std::int32_t>> pairs;
      for (const Transfer& transfer : round) pairs.insert({transfer.from, transfer.to});

      EXPECT_EQ(pairs.size(), 32U);
      for (const auto& [from, to] : pairs) EXPECT_TRUE(pairs.contains({to, from}));
    }
  }
}

// In node first when reducing, across first when spreading, among members of equal place.
TEST(Collective, HierarchicalPassesStayInNodesOrInPlaces) {
  const GroupShape shape{12, 3};
  const CollectiveProgram program =
      program_of({CollectiveKind::all_reduce, CollectiveAlgorithm::hierarchical, shape});
  const std::array<bool, 4> in_node{true, false, false, true};
  ASSERT_EQ(program.passes.size(), in_node.size());

  for (std::size_t i = 0; i < in_node.size(); ++i) {
    for (const Round& round : program.passes[i]) {
      for (const Transfer& transfer : round) {
        EXPECT_EQ(node_of(shape, transfer.from) == node_of(shape, transfer.to), in_node[i]);
        const bool same_place = transfer.from % 4 == transfer.to % 4;
        EXPECT_NE(same_place, in_node[i]);
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
