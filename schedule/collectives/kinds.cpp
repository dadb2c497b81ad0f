// Names of kinds and algorithms; see kinds.hpp.
#include "schedule/collectives/kinds.hpp"

namespace fourfold::inline schedule::inline collectives {

const char* name(CollectiveAlgorithm algorithm) {
  constexpr std::array<const char*, algorithm_count> names{
      "ring", "tree", "recursive", "recursive-doubling", "hierarchical", "pairwise"};
  return names[static_cast<std::size_t>(algorithm)];
}

std::optional<CollectiveKind> kind_named(const std::string& name, std::span<const KindRow> among) {
  for (const KindRow& row : among) {
    if (name == row.name) return row.kind;
  }
  return std::nullopt;
}

std::string with_article(const std::string& name) {
  return (name.starts_with('a') ? "an " : "a ") + name;
}

}  // namespace fourfold::inline schedule::inline collectives
