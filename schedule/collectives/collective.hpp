// Collectives are programs too: (kind, algorithm, members) -> rounds of transfers. Walking the
// rounds executes a collective; folding them gives exact counts (counts.hpp).
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

// A buffer is cut into `chunks` equal parts. Of what goes around, `chunks` = n c, part i are the c
// from i c on. All-gather: member i brings part i, all get all of them. Reduce-scatter: all bring
// every chunk, member i gets the sum of part i. All-reduce: all bring every chunk and get every
// sum. Where no two members bring the same (rounds.hpp says what is whose), there are more `names`
// than chunks of a buffer.
struct CollectiveProgram {
  GroupShape shape;
  std::int32_t chunks = 1;
  std::vector<Pass> passes;
  std::int32_t names = chunks;
  // A member's rounds wait for one another, although nothing it sends has come from others.
  bool in_step = false;
};

// Why this group cannot do that, as a sentence that names what would be right; empty if it can.
// `rings`: copies of the ring that split the buffer among them, each of which leaves a node from
// another member, and so by another NIC; 1 for every other algorithm.
std::string misfit(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape,
                   std::int64_t rings = 1);

// Throws std::invalid_argument with the sentence of `misfit`.
CollectiveProgram collective_program(CollectiveKind kind, CollectiveAlgorithm algorithm,
                                     GroupShape shape, std::int64_t rings = 1);

}  // namespace fourfold::inline schedule::inline collectives
