// Collectives are programs too: (kind, algorithm, members) -> rounds of transfers. Walking the rounds
// executes a collective; folding them gives exact counts of hops and bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fourfold {

enum class CollectiveKind : std::uint8_t { all_gather, reduce_scatter, all_reduce };
enum class CollectiveAlgorithm : std::uint8_t { ring, tree };

const char* name(CollectiveKind kind);
const char* name(CollectiveAlgorithm algorithm);

}  // namespace fourfold
