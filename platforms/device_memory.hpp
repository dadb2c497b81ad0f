// What a device's memory holds beside what a step allocates: the driver's context, communicators,
// and what the allocator reserves without using it.
#pragma once

#include <optional>
#include <string>

#include "platforms/software_memory.hpp"

namespace fourfold::inline platforms {

// Of a step that allocates so much, in the median of runs.
Bytes reserved_memory(Bytes allocated, const SoftwareMemory& memory);
Bytes used_memory(Bytes allocated, const SoftwareMemory& memory);

// The chance that a step whose projected peak is so much runs without meeting the device's
// capacity.
double chance_to_fit(Bytes allocated, const Platform& platform);
// The largest projected peak with which a step runs with the chance of 1 - risk.
Bytes memory_limit(const Platform& platform, double risk = 0.5);

// Chances from which on something fits or does not; between them it may.
inline constexpr double fits_from = 0.9;
inline constexpr double fits_not_below = 0.1;
const char* fits_in_words(double chance);  // "fits", "may fit", "does not fit"
std::string fits_text(double chance);      // "may fit (62 %)"
// "62", from 1 to 99, of a table whose column is in %; "-" where nobody knows.
std::string chance_cell(const std::optional<double>& chance);

// What is recommended fits with the chance of 1 - this where nobody asks for another.
inline constexpr double usual_memory_risk = 0.1;

}  // namespace fourfold::inline platforms
