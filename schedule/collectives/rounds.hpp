// The passes that collective programs are put together from, one algorithm a function; the callers
// have checked that the group can do it.
#pragma once

#include "schedule/collectives/collective.hpp"

namespace fourfold::inline schedule::inline collectives {

// All chunks to everybody (spread), or every member's part reduced at that member (reduce).
enum class Sweep : std::uint8_t { reduce, spread };

// `rings` rings over all members; ring r visits the members of every node in turned order, so that
// it leaves the node from a member of its own. n chunks a ring, slice r of part i is i rings + r.
Pass ring_pass(GroupShape shape, std::int32_t rings, Sweep sweep);

// Rings over the members of each node; or over the members of equal place in every node, with the
// chunks of their place. n chunks. A reduction runs in node first, a spread across first, so that
// only (N-1)/N of a buffer leaves a node.
Pass pass_in_nodes(GroupShape shape, Sweep sweep);
Pass pass_across_nodes(GroupShape shape, Sweep sweep);

// Distances n/2, n/4 .. 1 with 1, 2 .. n/2 chunks each (spread), or the reverse (reduce): the far
// exchanges are the small ones. n chunks.
Pass recursive_pass(GroupShape shape, Sweep sweep);
// Distances 1, 2 .. n/2 with the whole buffer, one chunk.
Pass doubling_pass(GroupShape shape);

// Member i to i + r in round r, what is for that one. n n chunks: i n + j goes from i to j.
Pass shift_pass(GroupShape shape);
// The same in nodes, with all that is for members of the other's place, then across nodes among
// members of equal place.
std::vector<Pass> shift_passes_by_node(GroupShape shape);
// From the first member on to the next, n chunks one after the other.
Pass chain_pass(GroupShape shape);
// Distances n/2, n/4 .. 1 from those that have it, one chunk.
Pass binomial_pass(GroupShape shape);
// One round; chunk 2 i goes from member i to the one before, 2 i + 1 to the one after.
Pass neighbour_pass(GroupShape shape);

// Up two complementary binary trees and down again, two chunks: each member of a node in a chain
// that ends at the node's first member. No node has more than two children in both together, so
// that both directions of its link are used evenly.
std::vector<Pass> tree_passes(GroupShape shape);

}  // namespace fourfold::inline schedule::inline collectives
