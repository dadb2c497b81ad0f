// Collectives are programs too: (kind, algorithm, members) -> rounds of transfers. Walking the
// rounds executes a collective; folding them gives exact counts of hops and bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fourfold {

enum class CollectiveKind : std::uint8_t { all_gather, reduce_scatter, all_reduce };
enum class CollectiveAlgorithm : std::uint8_t { ring, tree };

const char* name(CollectiveKind kind);
const char* name(CollectiveAlgorithm algorithm);

// A group as far as a collective cares: members 0..n-1 in ring order, spread evenly over nodes,
// node by node.
struct GroupShape {
  std::int64_t members = 1;
  std::int64_t nodes = 1;
  std::int64_t stride = 1;  // devices between neighbours; matters to bandwidths, not to counts

  bool operator==(const GroupShape&) const = default;
};

// Example: 6 members on 2 nodes are nodes 0 0 0 1 1 1.
constexpr std::int64_t node_of(GroupShape shape, std::int64_t member) {
  return member * shape.nodes / shape.members;
}

enum class Arrival : std::uint8_t { store, add };

// `from` sends its present content of `chunk` to `to`, which keeps it or adds it to its own.
struct Transfer {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t chunk = 0;
  Arrival arrival = Arrival::store;
};

// Transfers of a round read what their senders held when the round began.
using Round = std::vector<Transfer>;
// One sweep over the group; an all-reduce makes two, reducing first and spreading the sum after.
using Pass = std::vector<Round>;

// The buffer is cut into `chunks` equal parts. All-gather: member i brings chunk i, all get all of
// them. Reduce-scatter: all bring every chunk, member i gets the sum of chunk i. All-reduce: all
// bring every chunk and get every sum.
struct CollectiveProgram {
  GroupShape shape;
  std::int32_t chunks = 1;
  std::vector<Pass> passes;
};

// ring: member i sends to i + 1, one chunk a round, n chunks.
// tree (all-reduce only): two halves of the buffer run over two complementary binary trees of
// nodes, each member of a node in a chain that ends at the node's first member. No node has more
// than two children in both together, so that both directions of its link are used evenly. Throws
// std::invalid_argument: a shape with more nodes than members, a tree that is no all-reduce.
CollectiveProgram collective_program(CollectiveKind kind, CollectiveAlgorithm algorithm,
                                     GroupShape shape);

// Exact counts, in hops and in chunks. A hop is one transfer of the longest chain of transfers that
// wait for each other, passes added up; where chains of a pass are equally long, the one that
// crosses between nodes least often (in a ring: the chunk that sets out from a node's first
// member).
struct CollectiveCounts {
  std::int64_t hops_across = 0;  // between nodes
  std::int64_t hops_in_node = 0;
  std::int64_t chunks = 1;
  std::int64_t transfers_across = 0;  // of one chunk each, all members together
  std::int64_t transfers_in_node = 0;
  std::int64_t sent_by_node = 0;  // to other nodes, by the busiest node

  bool operator==(const CollectiveCounts&) const = default;
};

// Textbook formulas in constant time: for a search. Equal to the fold of the rounds; a tree whose
// nodes do not have equally many members is counted as if all were as full as the fullest.
CollectiveCounts counts(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape);

// The same by walking every transfer.
CollectiveCounts fold(const CollectiveProgram& program);

}  // namespace fourfold
