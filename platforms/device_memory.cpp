// Capacity against what steps allocate; see device_memory.hpp.
#include "platforms/device_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fourfold::inline platforms {
namespace {

// Standard deviation of log(measured / projected) of peaks: those of described systems, whose
// constants come from code, lie so far from the model (docs/memory.md).
constexpr double of_the_model = 0.04;
// The 90th percentile of a normal distribution, in standard deviations.
constexpr double ninetieth = 1.2816;
constexpr double most_deviations = 8.0;

// A machine that says which share may be filled has said all about its reserve.
bool has_own_reserve(const Platform& platform) {
  return platform.processor.usable_memory < 1.0;
}

// What a step may allocate, in the median of runs: all but what the driver, communicators and the
// allocator's own reserve take.
double allocatable(const Platform& platform, const SoftwareMemory& memory) {
  const double capacity = platform.processor.memory.value * platform.processor.usable_memory;
  if (has_own_reserve(platform)) return capacity;
  const double left = capacity - memory.context.value - memory.communicators.value;
  return std::max(0.0, left) / memory.reserved;
}

double spread(const Platform& platform, const SoftwareMemory& memory) {
  if (has_own_reserve(platform)) return of_the_model;
  const double of_reserve = std::log(memory.reserved_most / memory.reserved) / ninetieth;
  return std::hypot(of_the_model, of_reserve);
}

double normal(double deviation) {
  return 0.5 * std::erfc(-deviation / std::sqrt(2.0));
}

}  // namespace

Bytes reserved_memory(Bytes allocated, const SoftwareMemory& memory) {
  return allocated * memory.reserved;
}

Bytes used_memory(Bytes allocated, const SoftwareMemory& memory) {
  return reserved_memory(allocated, memory) + memory.context + memory.communicators;
}

double chance_to_fit(Bytes allocated, const Platform& platform) {
  const SoftwareMemory memory = software_memory(platform);
  const double room = allocatable(platform, memory);
  if (room <= 0.0) return 0.0;
  return normal(std::log(room / allocated.value) / spread(platform, memory));
}

Bytes memory_limit(const Platform& platform, double risk) {
  const SoftwareMemory memory = software_memory(platform);
  double low = -most_deviations, high = most_deviations;  // of a normal value
  constexpr int halvings = 60;
  for (int i = 0; risk != 0.5 && i < halvings; ++i) {
    const double middle = (low + high) / 2.0;
    (normal(middle) < 1.0 - risk ? low : high) = middle;
  }
  const double lead = risk == 0.5 ? 0.0 : low;
  return {allocatable(platform, memory) * std::exp(-lead * spread(platform, memory))};
}

const char* fits_in_words(double chance) {
  if (chance >= fits_from) return "fits";
  return chance <= fits_not_below ? "does not fit" : "may fit";
}

std::string fits_text(double chance) {
  return fmt::format("{} ({} %)", fits_in_words(chance), chance_cell(chance));
}

std::string chance_cell(const std::optional<double>& chance) {
  if (!chance) return "-";
  constexpr double rounding = 1e-6;
  return fmt::format("{:.0f}", std::clamp(std::floor(100.0 * *chance + rounding), 1.0, 99.0));
}

}  // namespace fourfold::inline platforms
