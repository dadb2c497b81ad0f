// Memory over a step: what there is in each section, as people speak of it.
#pragma once

#include <array>
#include <vector>

#include "schedule/fold/memory_rules.hpp"

namespace fourfold::inline schedule::inline fold {

// saved: what a backward pass needs of a forward one. temporaries: activations that begin and end
// within a section, and what functions make meanwhile. communication: gathered weights and buckets.
enum class MemoryPart : std::uint8_t {
  weights,
  gradients,
  optimizer,
  saved,
  temporaries,
  communication
};
inline constexpr int memory_part_count = 6;
const char* name(MemoryPart part);

struct MemoryParts {
  std::array<Bytes, memory_part_count> bytes{};

  Bytes& operator[](MemoryPart part) { return bytes[static_cast<std::size_t>(part)]; }
  Bytes operator[](MemoryPart part) const { return bytes[static_cast<std::size_t>(part)]; }
  Bytes sum() const;
};

// One for each of NamedStep::sections: its highest point, and what it leaves.
struct MemoryMoment {
  MemoryParts high, after;
};

// In the sequence in which the step is written; the highest is the peak but where a stage runs what
// has arrived. Of the rounds of a steady stretch the fullest is looked at.
std::vector<MemoryMoment> memory_over_step(const Folded& folded, const LocalSizes& sizes,
                                           const ProcessGrid& grid, const MemoryRules& rules);

}  // namespace fourfold::inline schedule::inline fold
