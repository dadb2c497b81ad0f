// Counts of collectives as formulas and by walking every transfer; see counts.hpp.
#include "schedule/collectives/counts.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "support/prose.hpp"

namespace fourfold::inline schedule::inline collectives {
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

CollectiveCounts around_counts(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape,
                               std::int64_t rings) {
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
    case CollectiveAlgorithm::pairwise:
      break;
  }
  throw std::logic_error("collective: an algorithm without counts");
}

// Nodes have q members, or q + 1.
CollectiveCounts pairwise_counts(GroupShape shape) {
  const std::int64_t n = shape.members;
  const std::int64_t q = n / shape.nodes;
  const std::int64_t fuller = n % shape.nodes;
  const std::int64_t in_nodes = fuller * (q + 1) * (q + 1) + (shape.nodes - fuller) * q * q;
  CollectiveCounts result;
  result.hops_across = n - q;
  result.hops_in_node = q - 1;
  result.chunks = n;
  result.transfers_across = n * n - in_nodes;
  result.transfers_in_node = in_nodes - n;
  result.sent_by_node = std::max(q * (n - q), fuller > 0 ? (q + 1) * (n - q - 1) : 0);
  result.sent_by_member = n - 1;
  result.sent_across_by_member = n - q;
  return result;
}

CollectiveCounts by_node_counts(GroupShape shape) {
  const std::int64_t n = shape.members;
  const std::int64_t nodes = shape.nodes;
  const std::int64_t per_node = n / nodes;
  CollectiveCounts result;
  result.hops_across = nodes - 1;
  result.hops_in_node = per_node - 1;
  result.chunks = n;
  result.transfers_across = n * (nodes - 1) * per_node;
  result.transfers_in_node = n * (per_node - 1) * nodes;
  result.sent_by_node = per_node * (nodes - 1) * per_node;
  result.sent_across_by_member = (nodes - 1) * per_node;
  result.sent_by_member = (per_node - 1) * nodes + result.sent_across_by_member;
  return result;
}

// Every member but the last sends all its chunks to the next; or log n sends of the first.
CollectiveCounts broadcast_counts(CollectiveAlgorithm algorithm, GroupShape shape) {
  const bool chain = algorithm == CollectiveAlgorithm::ring;
  CollectiveCounts result;
  result.chunks = chain ? shape.members : 1;
  result.hops_across = chain ? shape.nodes - 1 : ceil_log2(shape.nodes);
  result.hops_in_node =
      chain ? shape.members - shape.nodes : ceil_log2(shape.members / shape.nodes);
  result.transfers_across = result.chunks * (shape.nodes - 1);
  result.transfers_in_node = result.chunks * (shape.members - shape.nodes);
  const std::int64_t across =
      chain ? std::min<std::int64_t>(shape.nodes - 1, 1) * shape.members : result.hops_across;
  result.sent_by_node = result.sent_across_by_member = across;
  result.sent_by_member = chain ? shape.members : result.hops_across + result.hops_in_node;
  return result;
}

CollectiveCounts neighbour_counts(GroupShape shape) {
  const std::int64_t n = shape.members;
  const std::int64_t nodes = shape.nodes;
  // Nodes of one member that are neither the first nor the last.
  const std::int64_t lonely = n / nodes > 1 ? 0 : n % nodes == 0 ? nodes - 2 : 2 * nodes - n - 1;
  CollectiveCounts result;
  result.hops_across = nodes > 1 ? 1 : 0;
  result.hops_in_node = 1 - result.hops_across;
  result.chunks = 2;
  result.transfers_across = 2 * (nodes - 1);
  result.transfers_in_node = 2 * (n - nodes);
  result.sent_by_node = std::min<std::int64_t>(nodes - 1, 2);
  result.sent_by_member = std::min<std::int64_t>(n - 1, 2);
  result.sent_across_by_member = lonely > 0 ? 2 : result.hops_across;
  return result;
}

}  // namespace

CollectiveCounts counts(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape,
                        std::int64_t rings) {
  const std::string why = misfit(kind, algorithm, shape, rings);
  if (!why.empty()) throw std::invalid_argument(why);
  if (shape.members == 1) return {};
  switch (row_of(kind).motion) {
    case Motion::around:
      return around_counts(kind, algorithm, shape, rings);
    case Motion::one_way:
      return send_counts(shape);
    case Motion::pairs:
      return algorithm == CollectiveAlgorithm::pairwise ? pairwise_counts(shape)
                                                        : by_node_counts(shape);
    case Motion::onward:
      return broadcast_counts(algorithm, shape);
    case Motion::neighbours:
      return neighbour_counts(shape);
  }
  throw std::logic_error("collective: a motion without counts");
}

double skew(const std::vector<double>& parts, std::int64_t members) {
  if (std::ssize(parts) != members) {
    throw std::invalid_argument("collective: " + counted(std::ssize(parts), "part") + " for " +
                                counted(members, "member") + "; give one for each member");
  }
  double sum = 0.0, largest = 0.0;
  for (double part : parts) {
    if (!(part >= 0.0)) {
      throw std::invalid_argument("collective: a part of " + std::to_string(part) +
                                  "; it must not be negative");
    }
    sum += part;
    largest = std::max(largest, part);
  }
  if (sum <= 0.0) throw std::invalid_argument("collective: all parts are 0; one must be more");
  return largest * static_cast<double>(members) / sum;
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

// Of the member that crosses most often: one hop for each round in which it sends.
Hops most_rounds(const Pass& pass, GroupShape shape) {
  std::vector<Hops> made(static_cast<std::size_t>(shape.members));
  for (const Round& round : pass) {
    std::vector<Hops> now(made.size());
    for (const Transfer& transfer : round) {
      Hops& own = now[static_cast<std::size_t>(transfer.from)];
      const bool crosses = node_of(shape, transfer.from) != node_of(shape, transfer.to);
      if (crosses || own.across == 0) own = {crosses ? 1 : 0, crosses ? 0 : 1};
    }
    for (std::size_t member = 0; member < made.size(); ++member) {
      made[member].across += now[member].across;
      made[member].in_node += now[member].in_node;
    }
  }
  return *std::max_element(made.begin(), made.end(), [](Hops a, Hops b) {
    return a.total() != b.total() ? a.total() < b.total() : a.across < b.across;
  });
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
    const Hops hops = program.in_step ? most_rounds(pass, program.shape)
                                      : longest_chain(pass, program.shape, program.names);
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
