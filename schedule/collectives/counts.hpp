// How often a collective hops and what it sends: in constant time, and by walking its rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/collectives/collective.hpp"

namespace fourfold::inline schedule::inline collectives {

// Exact counts, in hops and in chunks. A hop is one transfer of the longest chain of transfers that
// wait for each other, passes added up; where chains of a pass are equally long, the one that
// crosses between nodes least often (in a ring: the chunk that sets out from a node's first
// member). Of pairs and neighbours a hop is a round of one member, of the one that crosses most
// often.
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
// and of those that do not go around, with q = n/N members in the emptiest node:
//
//   pairwise all-to-all        n - q      q - 1          (n - 1)/n     (n - q)/n
//   hierarchical all-to-all    N - 1      g - 1          (N - 1)/N + (g - 1)/g, and (N - 1)/N
//   ring broadcast             N - 1      n - N          1             1
//   recursive broadcast        log N      log g          log n         log N
//   neighbour exchange         1          1 if N = 1     1             1
//
// where "sent" is in buffers, by the busiest member, and counts() gives it in chunks. Parts of
// unequal sizes are counted as if all had the mean size; see skew().
CollectiveCounts counts(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape,
                        std::int64_t rings = 1);

// What the busiest member gets of parts of unequal sizes, over what it would get of equal ones: the
// largest part over the mean one. `parts` say how much all send to each member. Throws
// std::invalid_argument with a sentence if there is not one for each, or one is negative or all are
// zero.
double skew(const std::vector<double>& parts, std::int64_t members);

// The same by walking every transfer.
CollectiveCounts fold_program(const CollectiveProgram& program);

}  // namespace fourfold::inline schedule::inline collectives
