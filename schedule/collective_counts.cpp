// The textbook counts of collectives in constant time; see collective.hpp.
#include <algorithm>
#include <bit>
#include <stdexcept>

#include "schedule/collective.hpp"

namespace fourfold {
namespace {

std::int64_t ceil_log2(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
}

CollectiveCounts ring_counts(std::int64_t passes, GroupShape shape, std::int64_t rings) {
  const std::int64_t n = shape.members;
  const std::int64_t edges_across = shape.nodes > 1 ? shape.nodes : 0;
  CollectiveCounts result;
  result.hops_across = passes * (shape.nodes - 1);
  result.hops_in_node = passes * (n - shape.nodes);
  result.chunks = n * rings;
  result.transfers_across = passes * (n - 1) * edges_across * rings;
  result.transfers_in_node = passes * (n - 1) * (n - edges_across) * rings;
  result.sent_by_member = passes * (n - 1) * rings;
  if (shape.nodes > 1) {
    result.sent_by_node = passes * (n - 1) * rings;
    result.sent_across_by_member = passes * (n - 1);
  }
  return result;
}

CollectiveCounts tree_counts(GroupShape shape) {
  const std::int64_t n = shape.members;
  const std::int64_t nodes = shape.nodes;
  const std::int64_t fullest = (n + nodes - 1) / nodes;
  CollectiveCounts result;
  result.hops_across = 2 * ceil_log2(nodes);
  result.hops_in_node = 2 * (fullest - 1);
  result.chunks = 2;
  result.transfers_across = 4 * (nodes - 1);
  result.transfers_in_node = 4 * (n - nodes);
  // Inside one tree (up once, down twice) and a leaf of the other (up once).
  const std::int64_t across = nodes > 1 ? std::min<std::int64_t>(nodes, 4) : 0;
  result.sent_by_node = across;
  result.sent_across_by_member = across;
  // In both trees a node's first member also sends down its chain, inner ones up and down.
  const std::int64_t inner = fullest > 2 ? 4 : 0;
  result.sent_by_member = std::max(across + (fullest > 1 ? 2 : 0), inner);
  return result;
}

// What recursive and hierarchical have in common: 1/n of a buffer a chunk, all but one of them sent
// by everybody, of which N - 1 to other nodes.
CollectiveCounts two_level_counts(std::int64_t passes, GroupShape shape) {
  const std::int64_t n = shape.members;
  const std::int64_t nodes = shape.nodes;
  CollectiveCounts result;
  result.chunks = n;
  result.transfers_across = passes * n * (nodes - 1);
  result.transfers_in_node = passes * n * (n - nodes);
  result.sent_by_node = passes * (n / nodes) * (nodes - 1);
  result.sent_by_member = passes * (n - 1);
  result.sent_across_by_member = passes * (nodes - 1);
  return result;
}

CollectiveCounts doubling_counts(GroupShape shape) {
  const std::int64_t per_node = shape.members / shape.nodes;
  CollectiveCounts result;
  result.hops_across = ceil_log2(shape.nodes);
  result.hops_in_node = ceil_log2(per_node);
  result.transfers_across = shape.members * result.hops_across;
  result.transfers_in_node = shape.members * result.hops_in_node;
  result.sent_by_node = per_node * result.hops_across;
  result.sent_by_member = result.hops_across + result.hops_in_node;
  result.sent_across_by_member = result.hops_across;
  return result;
}

}  // namespace

CollectiveCounts counts(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape,
                        std::int64_t rings) {
  const std::string why = misfit(kind, algorithm, shape, rings);
  if (!why.empty()) throw std::invalid_argument(why);
  if (shape.members == 1) return {};
  const std::int64_t passes = kind == CollectiveKind::all_reduce ? 2 : 1;
  const std::int64_t per_node = shape.members / shape.nodes;
  CollectiveCounts result;
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      return ring_counts(passes, shape, rings);
    case CollectiveAlgorithm::tree:
      return tree_counts(shape);
    case CollectiveAlgorithm::recursive_doubling:
      return doubling_counts(shape);
    case CollectiveAlgorithm::recursive:
      result = two_level_counts(passes, shape);
      result.hops_across = passes * ceil_log2(shape.nodes);
      result.hops_in_node = passes * ceil_log2(per_node);
      return result;
    case CollectiveAlgorithm::hierarchical:
      result = two_level_counts(passes, shape);
      result.hops_across = passes * (shape.nodes - 1);
      result.hops_in_node = passes * (per_node - 1);
      return result;
  }
  throw std::logic_error("collective: an algorithm without counts");
}

}  // namespace fourfold
