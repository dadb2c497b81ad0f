// Rings, pairs at doubling or halving distance, and trees, as transfers; see rounds.hpp.
#include "schedule/collectives/rounds.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace fourfold::inline schedule::inline collectives {
namespace {

// Members in ring order. Example, 2 nodes of 4 and the second of 2 rings: 2 3 0 1  6 7 4 5.
std::vector<std::int32_t> ring_order(GroupShape shape, std::int32_t ring, std::int32_t rings) {
  const auto members = static_cast<std::int32_t>(shape.members);
  std::vector<std::int32_t> order;
  order.reserve(static_cast<std::size_t>(members));
  for (std::int32_t first = 0; first < members;) {
    std::int32_t last = first;
    while (last < members && node_of(shape, last) == node_of(shape, first)) ++last;
    const std::int32_t size = last - first;
    const std::int32_t turn = size * ring / rings;
    for (std::int32_t i = 0; i < size; ++i) order.push_back(first + (i + turn) % size);
    first = last;
  }
  return order;
}

// In round r the member at place p passes on what began at place p - lag - r. With lag 0 that
// starts with its own (spread); with lag 1 its own comes home in the last round, complete (reduce).
// `chunks_of(place)` are the chunks that belong at a place.
template <typename ChunksOf>
void add_ring(Pass& pass, const std::vector<std::int32_t>& order, Sweep sweep,
              const ChunksOf& chunks_of) {
  const auto size = static_cast<std::int32_t>(order.size());
  const std::int32_t lag = sweep == Sweep::reduce ? 1 : 0;
  const Arrival arrival = sweep == Sweep::reduce ? Arrival::add : Arrival::store;
  for (std::int32_t round = 0; round < size - 1; ++round) {
    for (std::int32_t place = 0; place < size; ++place) {
      const std::int32_t origin = (place - lag - round + 2 * size) % size;
      for (std::int32_t chunk : chunks_of(origin)) {
        pass[round].push_back({order[place], order[(place + 1) % size], chunk, arrival});
      }
    }
  }
}

}  // namespace

Pass ring_pass(GroupShape shape, std::int32_t rings, Sweep sweep) {
  Pass pass(static_cast<std::size_t>(shape.members - 1));
  for (std::int32_t ring = 0; ring < rings; ++ring) {
    const std::vector<std::int32_t> order = ring_order(shape, ring, rings);
    add_ring(pass, order, sweep, [&](std::int32_t place) {
      return std::vector<std::int32_t>{order[place] * rings + ring};
    });
  }
  return pass;
}

Pass pass_in_nodes(GroupShape shape, Sweep sweep) {
  const auto nodes = static_cast<std::int32_t>(shape.nodes);
  const auto size = static_cast<std::int32_t>(shape.members / shape.nodes);
  Pass pass(static_cast<std::size_t>(size - 1));
  for (std::int32_t node = 0; node < nodes; ++node) {
    std::vector<std::int32_t> order;
    for (std::int32_t place = 0; place < size; ++place) order.push_back(node * size + place);
    add_ring(pass, order, sweep, [&](std::int32_t place) {
      std::vector<std::int32_t> chunks;
      for (std::int32_t other = 0; other < nodes; ++other) chunks.push_back(other * size + place);
      return chunks;
    });
  }
  return pass;
}

Pass pass_across_nodes(GroupShape shape, Sweep sweep) {
  const auto nodes = static_cast<std::int32_t>(shape.nodes);
  const auto size = static_cast<std::int32_t>(shape.members / shape.nodes);
  Pass pass(static_cast<std::size_t>(nodes - 1));
  for (std::int32_t place = 0; place < size; ++place) {
    std::vector<std::int32_t> order;
    for (std::int32_t node = 0; node < nodes; ++node) order.push_back(node * size + place);
    add_ring(pass, order, sweep,
             [&](std::int32_t node) { return std::vector<std::int32_t>{order[node]}; });
  }
  return pass;
}

namespace {

// Everybody's exchange with the partner at `distance`. Before a spread at distance d a member holds
// the chunks that agree with its number modulo 2 d; after a reduction at distance d it has left to
// do those that agree modulo 2 d. So the chunks to send agree, modulo 2 d, with the member itself
// (spread) or with its partner (reduce).
Round exchange(std::int32_t members, std::int32_t distance, Sweep sweep) {
  const Arrival arrival = sweep == Sweep::reduce ? Arrival::add : Arrival::store;
  Round round;
  for (std::int32_t member = 0; member < members; ++member) {
    const std::int32_t partner = member ^ distance;
    const std::int32_t agreeing = sweep == Sweep::reduce ? partner : member;
    const std::int32_t step = 2 * distance;
    for (std::int32_t chunk = agreeing % step; chunk < members; chunk += step) {
      round.push_back({member, partner, chunk, arrival});
    }
  }
  return round;
}

}  // namespace

Pass recursive_pass(GroupShape shape, Sweep sweep) {
  const auto members = static_cast<std::int32_t>(shape.members);
  Pass pass;
  if (sweep == Sweep::spread) {
    for (std::int32_t distance = members / 2; distance >= 1; distance /= 2) {
      pass.push_back(exchange(members, distance, sweep));
    }
  } else {
    for (std::int32_t distance = 1; distance < members; distance *= 2) {
      pass.push_back(exchange(members, distance, sweep));
    }
  }
  return pass;
}

Pass doubling_pass(GroupShape shape) {
  const auto members = static_cast<std::int32_t>(shape.members);
  Pass pass;
  for (std::int32_t distance = 1; distance < members; distance *= 2) {
    Round& round = pass.emplace_back();
    for (std::int32_t member = 0; member < members; ++member) {
      round.push_back({member, member ^ distance, 0, Arrival::add});
    }
  }
  return pass;
}

Pass shift_pass(GroupShape shape) {
  const auto members = static_cast<std::int32_t>(shape.members);
  Pass pass;
  for (std::int32_t shift = 1; shift < members; ++shift) {
    Round& round = pass.emplace_back();
    for (std::int32_t from = 0; from < members; ++from) {
      const std::int32_t to = (from + shift) % members;
      round.push_back({from, to, from * members + to, Arrival::store});
    }
  }
  return pass;
}

std::vector<Pass> shift_passes_by_node(GroupShape shape) {
  const auto members = static_cast<std::int32_t>(shape.members);
  const auto nodes = static_cast<std::int32_t>(shape.nodes);
  const std::int32_t size = members / nodes;
  std::vector<Pass> passes(2);
  for (std::int32_t shift = 1; shift < size; ++shift) {
    Round& round = passes[0].emplace_back();
    for (std::int32_t from = 0; from < members; ++from) {
      const std::int32_t place = (from + shift) % size;
      for (std::int32_t node = 0; node < nodes; ++node) {
        round.push_back({from, from / size * size + place, from * members + node * size + place,
                         Arrival::store});
      }
    }
  }
  for (std::int32_t shift = 1; shift < nodes; ++shift) {
    Round& round = passes[1].emplace_back();
    for (std::int32_t from = 0; from < members; ++from) {
      const std::int32_t to = (from + shift * size) % members;
      const std::int32_t first = from / size * size;  // of the node, whose chunks it has by now
      for (std::int32_t origin = first; origin < first + size; ++origin) {
        round.push_back({from, to, origin * members + to, Arrival::store});
      }
    }
  }
  return passes;
}

Pass chain_pass(GroupShape shape) {
  const auto members = static_cast<std::int32_t>(shape.members);
  Pass pass(static_cast<std::size_t>(2 * (members - 1)));
  for (std::int32_t from = 0; from + 1 < members; ++from) {
    for (std::int32_t chunk = 0; chunk < members; ++chunk) {
      pass[from + chunk].push_back({from, from + 1, chunk, Arrival::store});
    }
  }
  return pass;
}

Pass binomial_pass(GroupShape shape) {
  const auto members = static_cast<std::int32_t>(shape.members);
  Pass pass;
  for (std::int32_t distance = members / 2; distance >= 1; distance /= 2) {
    Round& round = pass.emplace_back();
    for (std::int32_t from = 0; from < members; from += 2 * distance) {
      round.push_back({from, from + distance, 0, Arrival::store});
    }
  }
  return pass;
}

Pass neighbour_pass(GroupShape shape) {
  const auto members = static_cast<std::int32_t>(shape.members);
  Pass pass(1);
  for (std::int32_t member = 0; member < members; ++member) {
    if (member > 0) pass[0].push_back({member, member - 1, 2 * member, Arrival::store});
    if (member + 1 < members) {
      pass[0].push_back({member, member + 1, 2 * member + 1, Arrival::store});
    }
  }
  return pass;
}

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

}  // namespace fourfold::inline schedule::inline collectives
