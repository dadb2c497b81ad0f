// Which groups can do which collective, and its passes put together; see collective.hpp.
#include "schedule/collective.hpp"

#include <array>
#include <bit>
#include <limits>
#include <stdexcept>

#include "schedule/collective_rounds.hpp"

namespace fourfold {
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

// An all-gather is `spread` alone, a reduce-scatter `reduce` alone, an all-reduce both.
std::vector<Pass> swept(CollectiveKind kind, const std::vector<Pass>& reduce,
                        const std::vector<Pass>& spread) {
  std::vector<Pass> passes;
  if (kind != CollectiveKind::all_gather) {
    passes.insert(passes.end(), reduce.begin(), reduce.end());
  }
  if (kind != CollectiveKind::reduce_scatter) {
    passes.insert(passes.end(), spread.begin(), spread.end());
  }
  return passes;
}

}  // namespace

const char* name(CollectiveKind kind) {
  constexpr std::array<const char*, 3> names{"all-gather", "reduce-scatter", "all-reduce"};
  return names[static_cast<int>(kind)];
}

const char* name(CollectiveAlgorithm algorithm) {
  constexpr std::array<const char*, 5> names{"ring", "tree", "recursive", "recursive-doubling",
                                             "hierarchical"};
  return names[static_cast<int>(algorithm)];
}

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
  const bool whole_buffers = algorithm == CollectiveAlgorithm::tree ||
                             algorithm == CollectiveAlgorithm::recursive_doubling;
  if (whole_buffers && kind != CollectiveKind::all_reduce) {
    return "collective: only an all-reduce can be " + std::string(name(algorithm)) + ", not a" +
           (kind == CollectiveKind::all_gather ? "n " : " ") + name(kind) + "; use " +
           possible(shape) + " for it";
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

}  // namespace fourfold
