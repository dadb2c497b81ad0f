// What a run said about the memory of its devices: a peak, what the number counts, and whether the
// run fitted at all.
#pragma once

#include <cstdint>

#include "support/quantity.hpp"

namespace fourfold::inline scaling::inline validation {

// Live tensors; what the allocator took from the driver for them; all that the driver gave away.
enum class PeakIs : std::uint8_t { allocated, reserved, device };
// Of which stage of a pipeline.
enum class PeakOf : std::uint8_t { first, last, fullest };
enum class MemoryOutcome : std::uint8_t { ran, out_of_memory };

const char* name(PeakIs is);
const char* name(PeakOf of);
const char* name(MemoryOutcome outcome);

struct MeasuredMemory {
  Bytes peak;  // 0: only the outcome is known
  PeakIs is = PeakIs::allocated;
  PeakOf of = PeakOf::fullest;
  MemoryOutcome outcome = MemoryOutcome::ran;

  bool has_peak() const { return peak.value > 0.0; }
};

}  // namespace fourfold::inline scaling::inline validation
