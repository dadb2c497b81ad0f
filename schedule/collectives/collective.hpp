// Collectives are programs too: (kind, algorithm, members) -> rounds of transfers. Walking the
// rounds executes a collective; folding them gives exact counts of hops and bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/collectives/kinds.hpp"

namespace fourfold::inline schedule::inline collectives {

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

// Neighbours `stride` devices apart, on nodes filled one after the other.
// Example: 4 members with stride 4 on nodes of 8 devices: devices 0 4 8 12, on 2 nodes.
constexpr GroupShape packed_group(std::int64_t members, std::int64_t stride,
                                  std::int64_t devices_per_node) {
  const std::int64_t span = stride * members;
  if (span <= devices_per_node) return {members, 1, stride};
  if (stride >= devices_per_node) return {members, members, stride};
  return {members, (span + devices_per_node - 1) / devices_per_node, stride};
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
// One sweep over the group or over its nodes; an all-reduce reduces first and spreads the sum
// after.
using Pass = std::vector<Round>;

// The buffer is cut into `chunks` equal parts; of `chunks` = n c, part i are the c from i c on.
// All-gather: member i brings part i, all get all of them. Reduce-scatter: all bring every chunk,
// member i gets the sum of part i. All-reduce: all bring every chunk and get every sum.
struct CollectiveProgram {
  GroupShape shape;
  std::int32_t chunks = 1;
  std::vector<Pass> passes;
};

// Why this group cannot do that, as a sentence that names what would be right; empty if it can.
// `rings`: copies of the ring that split the buffer among them, each of which leaves a node from
// another member, and so by another NIC; 1 for every other algorithm.
std::string misfit(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape,
                   std::int64_t rings = 1);

// Throws std::invalid_argument with the sentence of `misfit`.
CollectiveProgram collective_program(CollectiveKind kind, CollectiveAlgorithm algorithm,
                                     GroupShape shape, std::int64_t rings = 1);

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
  std::int64_t sent_by_node = 0;           // to other nodes, by the busiest node
  std::int64_t sent_by_member = 0;         // by the busiest member
  std::int64_t sent_across_by_member = 0;  // to other nodes, by the busiest member

  bool operator==(const CollectiveCounts&) const = default;
};

// Textbook formulas in constant time: for a search. Equal to the fold of the rounds; a tree whose
// nodes do not have equally many members is counted as if all were as full as the fullest. Throws
// as collective_program does.
//
// With N nodes, n = N g members, k = 2 passes for an all-reduce and 1 else, all logarithms base 2:
//
//                      hops across      hops in node   sent by a member   of that across
//   ring               k (N - 1)        k (n - N)      k (n - 1)/n        k (n - 1)/n / rings
//   tree               2 ceil(log N)    2 (g - 1)      3, see the code    2
//   recursive          k log N          k log g        k (n - 1)/n        k (N - 1)/n
//   recursive_doubling log N            log g          log n              log N
//   hierarchical       k (N - 1)        k (g - 1)      k (n - 1)/n        k (N - 1)/n
//
// where "sent" is in buffers, by the busiest member, and counts() gives it in chunks.
CollectiveCounts counts(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape,
                        std::int64_t rings = 1);

// The same by walking every transfer.
CollectiveCounts fold_program(const CollectiveProgram& program);

}  // namespace fourfold::inline schedule::inline collectives
