// Which groups can do which collective, and its passes put together; see collective.hpp.
#include "schedule/collectives/collective.hpp"

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

std::string list_of(const std::vector<std::string>& words) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    list += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    list += words[i];
  }
  return list;
}

// What such a collective can be in this group, if not what all-reduces alone can be.
std::string possible(CollectiveKind kind, GroupShape shape) {
  using enum CollectiveAlgorithm;
  const bool pairs = power_of_two(shape.members) && power_of_two(shape.nodes);
  std::vector<std::string> words;
  for (CollectiveAlgorithm algorithm : {ring, pairwise, recursive, hierarchical}) {
    const bool fits =
        (algorithm != recursive || pairs) && (algorithm != hierarchical || evenly_spread(shape));
    if (fits && row_of(kind).algorithms.contains(algorithm)) words.emplace_back(name(algorithm));
  }
  return list_of(words);
}

std::string who_can(CollectiveAlgorithm algorithm) {
  std::vector<std::string> kinds;
  for (const KindRow& row : collective_rows) {
    if (row.algorithms.contains(algorithm)) kinds.push_back(with_article(row.name));
  }
  return list_of(kinds);
}

// Of what goes around.
std::vector<Pass> swept(CollectiveKind kind, const std::vector<Pass>& reduce,
                        const std::vector<Pass>& spread) {
  std::vector<Pass> passes;
  if (row_of(kind).reduces()) passes.insert(passes.end(), reduce.begin(), reduce.end());
  if (row_of(kind).spreads()) passes.insert(passes.end(), spread.begin(), spread.end());
  return passes;
}

}  // namespace

std::string misfit(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape,
                   std::int64_t rings) {
  if (shape.nodes < 1 || shape.members < shape.nodes) {
    return "collective: " + std::to_string(shape.members) + " members cannot be spread over " +
           std::to_string(shape.nodes) + " nodes; every node needs at least one member";
  }
  const KindRow& asked = row_of(kind);
  const bool one_ring = asked.motion != Motion::around && asked.motion != Motion::one_way;
  if (rings != 1 && (one_ring || algorithm != CollectiveAlgorithm::ring)) {
    return "collective: a " + what_text(kind, algorithm) +
           " is not split over rings; give 1 ring, not " + std::to_string(rings);
  }
  if (rings < 1 || (rings > 1 && rings > shape.members / shape.nodes)) {
    return "collective: " + std::to_string(rings) +
           " rings cannot each leave a node from another member among " + group_text(shape) +
           "; give 1 to " + std::to_string(shape.members / shape.nodes);
  }
  if (asked.motion == Motion::one_way &&
      (shape.members > 2 || !asked.algorithms.contains(algorithm) || rings != 1)) {
    return "collective: a send goes from one member to another, as one ring; not a " +
           what_text(kind, algorithm) + " among " + group_text(shape);
  }
  if (!asked.algorithms.contains(algorithm)) {
    return "collective: only " + who_can(algorithm) + " can be " + name(algorithm) + ", not " +
           with_article(asked.name) + "; use " + possible(kind, shape) + " for it";
  }
  const bool pairs = algorithm == CollectiveAlgorithm::recursive ||
                     algorithm == CollectiveAlgorithm::recursive_doubling;
  if (pairs && !(power_of_two(shape.members) && power_of_two(shape.nodes))) {
    return "collective: a " + what_text(kind, algorithm) +
           " needs powers of two of members and of nodes, not " + group_text(shape) + "; use " +
           possible(kind, shape);
  }
  if (algorithm == CollectiveAlgorithm::hierarchical && !evenly_spread(shape)) {
    return "collective: a " + what_text(kind, algorithm) +
           " needs equally many members in every node, not " + group_text(shape) + "; use " +
           possible(kind, shape);
  }
  return "";
}

namespace {

// Of what goes around.
CollectiveProgram round_trip(CollectiveKind kind, CollectiveAlgorithm algorithm, GroupShape shape,
                             std::int64_t rings) {
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
    case CollectiveAlgorithm::pairwise:
      break;
  }
  throw std::logic_error("collective: an algorithm without rounds");
}

}  // namespace

CollectiveProgram collective_program(CollectiveKind kind, CollectiveAlgorithm algorithm,
                                     GroupShape shape, std::int64_t rings) {
  const std::string why = misfit(kind, algorithm, shape, rings);
  if (!why.empty()) throw std::invalid_argument(why);
  const Motion motion = row_of(kind).motion;
  const std::int64_t names = motion == Motion::pairs ? shape.members : rings;
  if (shape.members > std::numeric_limits<std::int32_t>::max() / 4 / names) {
    throw std::invalid_argument("collective: " + std::to_string(shape.members) +
                                " members are too many to write out round by round");
  }
  if (shape.members == 1) return {shape, 1, {}};
  const auto members = static_cast<std::int32_t>(shape.members);
  switch (motion) {
    case Motion::around:
      return round_trip(kind, algorithm, shape, rings);
    case Motion::one_way:
      return {shape, 1, {Pass{Round{Transfer{0, 1, 0}}}}};
    case Motion::pairs:
      return {shape, members,
              algorithm == CollectiveAlgorithm::pairwise ? std::vector<Pass>(1, shift_pass(shape))
                                                         : shift_passes_by_node(shape),
              members * members, true};
    case Motion::onward:
      if (algorithm == CollectiveAlgorithm::recursive) return {shape, 1, {binomial_pass(shape)}};
      return {shape, members, {chain_pass(shape)}};
    case Motion::neighbours:
      return {shape, 2, {neighbour_pass(shape)}, 2 * members, true};
  }
  throw std::logic_error("collective: a motion without rounds");
}

}  // namespace fourfold::inline schedule::inline collectives
