// Picks facts by their keys; see operation.hpp.
#include "platforms/operation.hpp"

#include <string>

namespace fourfold::inline platforms {
namespace {

std::optional<Fact> fact_of(const Platform& platform, const char* name) {
  const std::string key = std::string(operation_section) + "." + name;
  for (Fact fact : platform.facts) {
    if (fact.key != key) continue;
    if (const auto scale = platform.scales.find(key); scale != platform.scales.end()) {
      fact.value *= scale->second;
    }
    return fact;
  }
  return std::nullopt;
}

}  // namespace

MachineOperation operation_of(const Platform& platform) {
  return {fact_of(platform, node_power_key), fact_of(platform, node_failures_key),
          fact_of(platform, file_system_key), fact_of(platform, step_p90_key),
          fact_of(platform, step_p99_key)};
}

bool is_of_operation(const Fact& fact) {
  return fact.key.starts_with(std::string(operation_section) + ".");
}

}  // namespace fourfold::inline platforms
