// Rounds of ring and tree collectives, their fold, and the textbook counts; see collective.hpp.
#include "schedule/collective.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <stdexcept>

namespace fourfold {
namespace {

void require_sound(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape) {
  if (shape.nodes < 1 || shape.members < shape.nodes) {
    throw std::invalid_argument("collective: " + std::to_string(shape.members) +
                                " members cannot be spread over " + std::to_string(shape.nodes) +
                                " nodes; every node needs at least one member");
  }
  if (algorithm == CollectiveAlgorithm::tree && kind != CollectiveKind::all_reduce) {
    throw std::invalid_argument("collective: only an all-reduce has a tree, not a " +
                                std::string(name(kind)) + "; use a ring");
  }
}

// In round r member i passes on chunk i - lag - r. With lag 0 that starts with its own
// (all-gather); with lag 1 its own comes home in the last round, complete (reduce-scatter).
Pass ring_pass(std::int32_t members, std::int32_t lag, Arrival arrival) {
  Pass pass(static_cast<std::size_t>(members - 1));
  for (std::int32_t round = 0; round < members - 1; ++round) {
    for (std::int32_t from = 0; from < members; ++from) {
      const std::int32_t chunk = (from - lag - round + 2 * members) % members;
      pass[round].push_back({from, (from + 1) % members, chunk, arrival});
    }
  }
  return pass;
}

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

struct Hops {
  std::int64_t across = 0;
  std::int64_t in_node = 0;

  std::int64_t total() const { return across + in_node; }
};

// Longer chains first; of equally long ones, the one that crosses less.
bool exceeds(Hops a, Hops b) {
  return a.total() != b.total() ? a.total() > b.total() : a.across < b.across;
}

Hops longest_chain(const Pass& pass, GroupShape shape, std::int32_t chunks) {
  std::vector<Hops> reached(static_cast<std::size_t>(shape.members * chunks));
  Hops longest;
  for (const Round& round : pass) {
    const std::vector<Hops> before = reached;
    for (const Transfer& transfer : round) {
      Hops hops = before[static_cast<std::size_t>(transfer.from) * chunks + transfer.chunk];
      ++(node_of(shape, transfer.from) == node_of(shape, transfer.to) ? hops.in_node : hops.across);
      Hops& at = reached[static_cast<std::size_t>(transfer.to) * chunks + transfer.chunk];
      if (exceeds(hops, at)) at = hops;
      if (exceeds(hops, longest)) longest = hops;
    }
  }
  return longest;
}

}  // namespace

const char* name(CollectiveKind kind) {
  constexpr std::array<const char*, 3> names{"all-gather", "reduce-scatter", "all-reduce"};
  return names[static_cast<int>(kind)];
}

const char* name(CollectiveAlgorithm algorithm) {
  return algorithm == CollectiveAlgorithm::ring ? "ring" : "tree";
}

CollectiveProgram collective_program(CollectiveKind kind, CollectiveAlgorithm algorithm,
                                     GroupShape shape) {
  require_sound(kind, algorithm, shape);
  if (shape.members > std::numeric_limits<std::int32_t>::max() / 4) {
    throw std::invalid_argument("collective: " + std::to_string(shape.members) +
                                " members are too many to write out round by round");
  }
  const auto members = static_cast<std::int32_t>(shape.members);
  if (members == 1) return {shape, 1, {}};
  if (algorithm == CollectiveAlgorithm::tree) return {shape, 2, tree_passes(shape)};
  CollectiveProgram program{shape, members, {}};
  if (kind != CollectiveKind::all_gather) {
    program.passes.push_back(ring_pass(members, 1, Arrival::add));
  }
  if (kind != CollectiveKind::reduce_scatter) {
    program.passes.push_back(ring_pass(members, 0, Arrival::store));
  }
  return program;
}

CollectiveCounts counts(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape) {
  require_sound(kind, algorithm, shape);
  const std::int64_t n = shape.members;
  const std::int64_t nodes = shape.nodes;
  CollectiveCounts result;
  if (n == 1) return result;
  if (algorithm == CollectiveAlgorithm::ring) {
    const std::int64_t passes = kind == CollectiveKind::all_reduce ? 2 : 1;
    const std::int64_t edges_across = nodes > 1 ? nodes : 0;
    result.hops_across = passes * (nodes - 1);
    result.hops_in_node = passes * (n - nodes);
    result.chunks = n;
    result.transfers_across = passes * (n - 1) * edges_across;
    result.transfers_in_node = passes * (n - 1) * (n - edges_across);
    result.sent_by_node = nodes > 1 ? passes * (n - 1) : 0;
    return result;
  }
  const auto depth =  // ceil(log2(nodes))
      static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(nodes - 1)));
  result.hops_across = 2 * depth;
  result.hops_in_node = 2 * ((n + nodes - 1) / nodes - 1);
  result.chunks = 2;
  result.transfers_across = 4 * (nodes - 1);
  result.transfers_in_node = 4 * (n - nodes);
  // Inside one tree (up once, down twice) and a leaf of the other (up once).
  result.sent_by_node = nodes > 1 ? std::min<std::int64_t>(nodes, 4) : 0;
  return result;
}

CollectiveCounts fold(const CollectiveProgram& program) {
  CollectiveCounts result;
  result.chunks = program.chunks;
  std::vector<std::int64_t> sent(static_cast<std::size_t>(program.shape.nodes), 0);
  for (const Pass& pass : program.passes) {
    const Hops hops = longest_chain(pass, program.shape, program.chunks);
    result.hops_across += hops.across;
    result.hops_in_node += hops.in_node;
    for (const Round& round : pass) {
      for (const Transfer& transfer : round) {
        const std::int64_t from = node_of(program.shape, transfer.from);
        if (from == node_of(program.shape, transfer.to)) {
          ++result.transfers_in_node;
        } else {
          ++result.transfers_across;
          ++sent[from];
        }
      }
    }
  }
  result.sent_by_node = *std::max_element(sent.begin(), sent.end());
  return result;
}

}  // namespace fourfold
