// Rounds of rings: over the whole group, in nodes, and across nodes; see collective_rounds.hpp.
#include "schedule/collective_rounds.hpp"

namespace fourfold {
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

}  // namespace fourfold
