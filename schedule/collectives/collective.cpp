// Which groups can do which collective, its passes put together, and their counts, as formulas and
// by walking every transfer; see collective.hpp.
#include "schedule/collectives/collective.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

#include "schedule/collectives/rounds.hpp"

namespace fourfold::inline schedule::inline collectives {
namespace {

bool power_of_two(std::int64_t n) {
  return std::has_single_bit(static_cast<std::uint64_t>(n));
}

std::string what_text(CollectiveKind kind, CollectiveAlgorithm algorithm) {
  return std::string(name(algorithm)) + " " + name(kind);
}

std::string group_text(GroupShape shape) {
  return std::to_string(shape.members) + " members on " + std::to_string(shape.nodes) +
         (shape.nodes == 1 ? " node" : " nodes");
}

bool evenly_spread(GroupShape shape) {
  return shape.members % shape.nodes == 0;
}

// What any kind of collective can be in this group.
std::string possible(GroupShape shape) {
  if (!evenly_spread(shape)) return "ring";
  const bool pairs = power_of_two(shape.members) && power_of_two(shape.nodes);
  return pairs ? "ring, recursive or hierarchical" : "ring or hierarchical";
}

std::string who_can(CollectiveAlgorithm algorithm) {
  std::string kinds;
  for (const KindRow& row : collective_rows) {
    if (!row.algorithms.contains(algorithm)) continue;
    kinds += (kinds.empty() ? "" : " or ") + with_article(row.name);
  }
  return kinds;
}

// Of what goes around.
std::vector<Pass> swept(CollectiveKind kind, const std::vector<Pass>& reduce,
                        const std::vector<Pass>& spread) {
  std::vector<Pass> passes;
  if (row_of(kind).reduces) passes.insert(passes.end(), reduce.begin(), reduce.end());
  if (row_of(kind).spreads) passes.insert(passes.end(), spread.begin(), spread.end());
  return passes;
}

}  // namespace

std::string misfit(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape,
                   std::int64_t rings) {
  if (shape.nodes < 1 || shape.members < shape.nodes) {
    return "collective: " + std::to_string(shape.members) + " members cannot be spread over " +
           std::to_string(shape.nodes) + " nodes; every node needs at least one member";
  }
  if (rings != 1 && algorithm != CollectiveAlgorithm::ring) {
    return "collective: a " + what_text(kind, algorithm) +
           " is not split over rings; give 1 ring, not " + std::to_string(rings);
  }
  if (rings < 1 || (rings > 1 && rings > shape.members / shape.nodes)) {
    return "collective: " + std::to_string(rings) +
           " rings cannot each leave a node from another member among " + group_text(shape) +
           "; give 1 to " + std::to_string(shape.members / shape.nodes);
  }
  const KindRow& asked = row_of(kind);
  if (asked.most_members > 0 &&
      (shape.members > asked.most_members || !asked.algorithms.contains(algorithm) || rings != 1)) {
    return "collective: a send goes from one member to another, as one ring; not a " +
           what_text(kind, algorithm) + " among " + group_text(shape);
  }
  if (!asked.algorithms.contains(algorithm)) {
    return "collective: only " + who_can(algorithm) + " can be " + name(algorithm) + ", not " +
           with_article(asked.name) + "; use " + possible(shape) + " for it";
  }
  const bool pairs = algorithm == CollectiveAlgorithm::recursive ||
                     algorithm == CollectiveAlgorithm::recursive_doubling;
  if (pairs && !(power_of_two(shape.members) && power_of_two(shape.nodes))) {
    return "collective: a " + what_text(kind, algorithm) +
           " needs powers of two of members and of nodes, not " + group_text(shape) + "; use " +
           possible(shape);
  }
  if (algorithm == CollectiveAlgorithm::hierarchical && !evenly_spread(shape)) {
    return "collective: a " + what_text(kind, algorithm) +
           " needs equally many members in every node, not " + group_text(shape) + "; use " +
           possible(shape);
  }
  return "";
}

CollectiveProgram collective_program(CollectiveKind kind, CollectiveAlgorithm algorithm,
                                     GroupShape shape, std::int64_t rings) {
  const std::string why = misfit(kind, algorithm, shape, rings);
  if (!why.empty()) throw std::invalid_argument(why);
  if (shape.members > std::numeric_limits<std::int32_t>::max() / 4 / rings) {
    throw std::invalid_argument("collective: " + std::to_string(shape.members) +
                                " members are too many to write out round by round");
  }
  if (shape.members == 1) return {shape, 1, {}};
  if (row_of(kind).sends_whole) return {shape, 1, {Pass{Round{Transfer{0, 1, 0}}}}};
  const auto members = static_cast<std::int32_t>(shape.members);
  const auto ring_count = static_cast<std::int32_t>(rings);
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      return {shape, members * ring_count,
              swept(kind, {ring_pass(shape, ring_count, Sweep::reduce)},
                    {ring_pass(shape, ring_count, Sweep::spread)})};
    case CollectiveAlgorithm::tree:
      return {shape, 2, tree_passes(shape)};
    case CollectiveAlgorithm::recursive:
      return {shape, members,
              swept(kind, {recursive_pass(shape, Sweep::reduce)},
                    {recursive_pass(shape, Sweep::spread)})};
    case CollectiveAlgorithm::recursive_doubling:
      return {shape, 1, {doubling_pass(shape)}};
    case CollectiveAlgorithm::hierarchical:
      return {
          shape, members,
          swept(kind,
                {pass_in_nodes(shape, Sweep::reduce), pass_across_nodes(shape, Sweep::reduce)},
                {pass_across_nodes(shape, Sweep::spread), pass_in_nodes(shape, Sweep::spread)})};
  }
  throw std::logic_error("collective: an algorithm without rounds");
}

namespace {

std::int64_t ceil_log2(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
}

CollectiveCounts send_counts(GroupShape shape) {
  const std::int64_t across = shape.nodes > 1 ? 1 : 0;
  return {across, 1 - across, 1, across, 1 - across, across, 1, across};
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
  if (row_of(kind).sends_whole) return send_counts(shape);
  const std::int64_t passes = row_of(kind).passes();
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

namespace {

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

CollectiveCounts fold_program(const CollectiveProgram& program) {
  CollectiveCounts result;
  result.chunks = program.chunks;
  std::vector<std::int64_t> by_node(static_cast<std::size_t>(program.shape.nodes), 0);
  std::vector<std::int64_t> by_member(static_cast<std::size_t>(program.shape.members), 0);
  std::vector<std::int64_t> across_by_member = by_member;
  for (const Pass& pass : program.passes) {
    const Hops hops = longest_chain(pass, program.shape, program.chunks);
    result.hops_across += hops.across;
    result.hops_in_node += hops.in_node;
    for (const Round& round : pass) {
      for (const Transfer& transfer : round) {
        const std::int64_t from = node_of(program.shape, transfer.from);
        ++by_member[transfer.from];
        if (from == node_of(program.shape, transfer.to)) {
          ++result.transfers_in_node;
        } else {
          ++result.transfers_across;
          ++by_node[from];
          ++across_by_member[transfer.from];
        }
      }
    }
  }
  result.sent_by_node = *std::max_element(by_node.begin(), by_node.end());
  result.sent_by_member = *std::max_element(by_member.begin(), by_member.end());
  result.sent_across_by_member =
      *std::max_element(across_by_member.begin(), across_by_member.end());
  return result;
}

}  // namespace fourfold::inline schedule::inline collectives
