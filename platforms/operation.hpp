// What running a machine costs and how often it breaks: facts of its file that no step's time
// depends on.
#pragma once

#include <optional>

#include "platforms/platform.hpp"

namespace fourfold::inline platforms {

inline constexpr const char* operation_section = "operation";
inline constexpr const char* node_power_key = "node_power_W";
inline constexpr const char* node_failures_key = "node_failures_per_day";
inline constexpr const char* file_system_key = "file_system_write_GBps";
inline constexpr const char* step_p90_key = "step_p90";
inline constexpr const char* step_p99_key = "step_p99";

// Each absent where the file does not say; values as scaled, in the unit of their key.
struct MachineOperation {
  std::optional<Fact> node_power, node_failures, file_system;
  std::optional<Fact> step_p90, step_p99;  // over the median step
};
MachineOperation operation_of(const Platform& platform);

// Whether the fact is one of these.
bool is_of_operation(const Fact& fact);

}  // namespace fourfold::inline platforms
