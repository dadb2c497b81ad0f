// Executes collectives on provenance instead of numbers, and holds the formulas against the rounds.
#include "schedule/collective.hpp"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace fourfold {
namespace {

// How often each member's contribution is in a chunk.
using Provenance = std::map<std::int32_t, int>;
using Contents = std::vector<std::vector<Provenance>>;  // [member][chunk]

Contents before(CollectiveKind kind, const CollectiveProgram& program) {
  const auto members = static_cast<std::int32_t>(program.shape.members);
  Contents contents(members, std::vector<Provenance>(program.chunks));
  for (std::int32_t member = 0; member < members; ++member) {
    for (std::int32_t chunk = 0; chunk < program.chunks; ++chunk) {
      const bool own = kind != CollectiveKind::all_gather || chunk == member;
      if (own) contents[member][chunk] = {{member, 1}};
    }
  }
  return contents;
}

Contents executed(const CollectiveProgram& program, Contents contents) {
  for (const Pass& pass : program.passes) {
    for (const Round& round : pass) {
      std::vector<Provenance> sent;
      for (const Transfer& transfer : round) {
        sent.push_back(contents.at(transfer.from).at(transfer.chunk));
        EXPECT_FALSE(sent.back().empty()) << "member " << transfer.from << " sends what it lacks";
      }
      for (std::size_t i = 0; i < round.size(); ++i) {
        Provenance& held = contents.at(round[i].to).at(round[i].chunk);
        if (round[i].arrival == Arrival::store) held.clear();
        for (const auto& [member, times] : sent[i]) held[member] += times;
      }
    }
  }
  return contents;
}

Provenance everybody_once(std::int64_t members) {
  Provenance all;
  for (std::int32_t member = 0; member < members; ++member) all[member] = 1;
  return all;
}

std::string text(GroupShape shape) {
  return std::to_string(shape.members) + " members on " + std::to_string(shape.nodes) + " nodes";
}

std::vector<GroupShape> shapes() {
  std::vector<GroupShape> result;
  for (std::int64_t members = 1; members <= 33; ++members) {
    for (std::int64_t nodes = 1; nodes <= members; ++nodes) result.push_back({members, nodes});
  }
  return result;
}

// What a ring does with contents does not depend on where its members sit.
std::vector<GroupShape> shapes_to_execute(CollectiveAlgorithm algorithm) {
  if (algorithm == CollectiveAlgorithm::tree) return shapes();
  std::vector<GroupShape> result;
  for (std::int64_t members = 1; members <= 33; ++members) result.push_back({members, 1});
  return result;
}

TEST(Collective, AllGatherBringsEveryChunkToEveryMember) {
  for (GroupShape shape : shapes_to_execute(CollectiveAlgorithm::ring)) {
    const CollectiveProgram program =
        collective_program(CollectiveKind::all_gather, CollectiveAlgorithm::ring, shape);

    const Contents after = executed(program, before(CollectiveKind::all_gather, program));

    for (std::int32_t member = 0; member < shape.members; ++member) {
      for (std::int32_t chunk = 0; chunk < program.chunks; ++chunk) {
        EXPECT_EQ(after[member][chunk], (Provenance{{chunk, 1}})) << text(shape);
      }
    }
  }
}

TEST(Collective, ReduceScatterLeavesEachMemberTheSumOfItsChunk) {
  for (GroupShape shape : shapes_to_execute(CollectiveAlgorithm::ring)) {
    const CollectiveProgram program =
        collective_program(CollectiveKind::reduce_scatter, CollectiveAlgorithm::ring, shape);

    const Contents after = executed(program, before(CollectiveKind::reduce_scatter, program));

    for (std::int32_t member = 0; member < shape.members; ++member) {
      EXPECT_EQ(after[member][member], everybody_once(shape.members)) << text(shape);
    }
  }
}

TEST(Collective, AllReduceSumsEveryChunkOnceEverywhere) {
  for (CollectiveAlgorithm algorithm : {CollectiveAlgorithm::ring, CollectiveAlgorithm::tree}) {
    for (GroupShape shape : shapes_to_execute(algorithm)) {
      const CollectiveProgram program =
          collective_program(CollectiveKind::all_reduce, algorithm, shape);

      const Contents after = executed(program, before(CollectiveKind::all_reduce, program));

      for (const auto& member : after) {
        for (const Provenance& chunk : member) {
          EXPECT_EQ(chunk, everybody_once(shape.members)) << name(algorithm) << ", " << text(shape);
        }
      }
    }
  }
}

TEST(Collective, RingFormulasEqualTheFoldOfTheRounds) {
  for (CollectiveKind kind :
       {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
    for (GroupShape shape : shapes()) {
      const CollectiveCounts formula = counts(kind, CollectiveAlgorithm::ring, shape);

      const CollectiveCounts walked =
          fold(collective_program(kind, CollectiveAlgorithm::ring, shape));

      EXPECT_EQ(formula, walked) << name(kind) << ", " << text(shape);
    }
  }
}

TEST(Collective, TreeFormulasEqualTheFoldOfTheRounds) {
  for (GroupShape shape : shapes()) {
    const CollectiveCounts formula =
        counts(CollectiveKind::all_reduce, CollectiveAlgorithm::tree, shape);

    const CollectiveCounts walked =
        fold(collective_program(CollectiveKind::all_reduce, CollectiveAlgorithm::tree, shape));

    if (shape.members % shape.nodes == 0) {
      EXPECT_EQ(formula, walked) << text(shape);
    } else {
      EXPECT_EQ(formula.transfers_across, walked.transfers_across) << text(shape);
      EXPECT_EQ(formula.transfers_in_node, walked.transfers_in_node) << text(shape);
      const std::int64_t excess =
          formula.hops_across + formula.hops_in_node - walked.hops_across - walked.hops_in_node;
      EXPECT_GE(excess, 0) << text(shape);
      EXPECT_LE(excess, 2) << text(shape);
    }
  }
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

// 4 nodes of 4: one pass passes 3 gaps between nodes and 4 x 3 inside; both algorithms move
// 2 (n - 1) buffers in all.
TEST(Collective, WorkedExampleOfFourNodesWithFourMembers) {
  const GroupShape shape{16, 4};

  const CollectiveCounts gather =
      counts(CollectiveKind::all_gather, CollectiveAlgorithm::ring, shape);
  const CollectiveCounts ring =
      counts(CollectiveKind::all_reduce, CollectiveAlgorithm::ring, shape);
  const CollectiveCounts tree =
      counts(CollectiveKind::all_reduce, CollectiveAlgorithm::tree, shape);

  EXPECT_EQ(gather.hops_across, 3);
  EXPECT_EQ(gather.hops_in_node, 12);
  EXPECT_EQ(tree.hops_across, 4);
  EXPECT_EQ(tree.hops_in_node, 6);
  EXPECT_EQ((ring.transfers_across + ring.transfers_in_node) / ring.chunks, 30);
  EXPECT_EQ((tree.transfers_across + tree.transfers_in_node) / tree.chunks, 30);
}

TEST(Collective, CountsOfTheLargestMachineFit) {
  const CollectiveCounts ring =
      counts(CollectiveKind::all_reduce, CollectiveAlgorithm::ring, {32768, 4096});

  EXPECT_EQ(ring.hops_across, 2 * 4095);
  EXPECT_EQ(ring.hops_in_node, 2 * 4096 * 7);
  EXPECT_EQ(ring.transfers_across + ring.transfers_in_node, 2LL * 32768 * 32767);
}

TEST(Collective, RefusesImpossibleGroups) {
  const auto ring = CollectiveAlgorithm::ring;

  EXPECT_THROW(counts(CollectiveKind::all_gather, ring, {2, 3}), std::invalid_argument);
  EXPECT_THROW(counts(CollectiveKind::all_gather, ring, {0, 0}), std::invalid_argument);
  EXPECT_THROW(collective_program(CollectiveKind::all_gather, ring, {2, 0}), std::invalid_argument);
  EXPECT_THROW(counts(CollectiveKind::all_gather, CollectiveAlgorithm::tree, {4, 2}),
               std::invalid_argument);
}

}  // namespace
}  // namespace fourfold
