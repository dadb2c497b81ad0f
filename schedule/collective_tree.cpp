// Rounds of two complementary binary trees of nodes; see collective_rounds.hpp.
#include <algorithm>
#include <array>
#include <bit>

#include "schedule/collective_rounds.hpp"

namespace fourfold {
namespace {

// Parent of a node in a binary tree with root 0: odd nodes are leaves, and the lowest set bit is
// the node's height. Example, 8 nodes: 0 over 4; 4 over 2, 6; 2 over 1, 3; 6 over 5, 7.
std::int32_t parent_node(std::int32_t node, std::int32_t nodes) {
  const std::int32_t bit = node & -node;
  const std::int32_t up = (node ^ bit) | (bit << 1);
  return up < nodes ? up : node ^ bit;
}

// The second tree is the first one mirrored (even count) or shifted by one (odd count), so that no
// node has more than two children in both trees together.
std::int32_t placed(std::int32_t node, std::int32_t nodes, std::int32_t tree) {
  if (tree == 0) return node;
  return nodes % 2 == 0 ? nodes - 1 - node : (node + 1) % nodes;
}

// One tree's edges from child to parent, with the distance of the child from the root.
struct TreeEdge {
  std::int32_t child = 0;
  std::int32_t parent = 0;
  std::int32_t depth = 0;
};

std::vector<TreeEdge> tree_edges(GroupShape shape, std::int32_t tree) {
  const auto nodes = static_cast<std::int32_t>(shape.nodes);
  const auto members = static_cast<std::int32_t>(shape.members);
  std::vector<std::int32_t> first(static_cast<std::size_t>(nodes), -1);
  for (std::int32_t member = members - 1; member >= 0; --member) {
    first[node_of(shape, member)] = member;
  }
  std::vector<std::int32_t> depth(static_cast<std::size_t>(members), 0);
  std::vector<TreeEdge> edges;
  const auto join = [&](std::int32_t child, std::int32_t parent) {
    depth[child] = depth[parent] + 1;
    edges.push_back({child, parent, depth[child]});
  };
  // A parent's lowest set bit is higher than its children's: going down by that bit visits parents
  // before their children.
  for (std::int32_t bit = std::bit_floor(static_cast<std::uint32_t>(nodes)); bit >= 1; bit >>= 1) {
    for (std::int32_t node = bit; node < nodes; node += 2 * bit) {
      join(first[placed(node, nodes, tree)], first[placed(parent_node(node, nodes), nodes, tree)]);
    }
  }
  for (std::int32_t member = 1; member < members; ++member) {
    if (first[node_of(shape, member)] != member) join(member, member - 1);
  }
  return edges;
}

}  // namespace

std::vector<Pass> tree_passes(GroupShape shape) {
  std::array<std::vector<TreeEdge>, 2> trees{tree_edges(shape, 0), tree_edges(shape, 1)};
  std::int32_t deepest = 0;
  for (const auto& edges : trees) {
    for (const TreeEdge& edge : edges) deepest = std::max(deepest, edge.depth);
  }
  std::vector<Pass> passes(2, Pass(static_cast<std::size_t>(deepest)));
  for (std::int32_t tree = 0; tree < 2; ++tree) {
    for (const TreeEdge& edge : trees[tree]) {
      passes[0][deepest - edge.depth].push_back({edge.child, edge.parent, tree, Arrival::add});
      passes[1][edge.depth - 1].push_back({edge.parent, edge.child, tree, Arrival::store});
    }
  }
  return passes;
}

}  // namespace fourfold
