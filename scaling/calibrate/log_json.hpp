// Logs as JSON: what nccl-tests writes with --output_file, and nvbandwidth with --json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scaling/calibrate/collective_log.hpp"

namespace fourfold::inline scaling::inline calibrate {

// Nothing for a text that is no JSON. Throws std::runtime_error that begins with the path where it
// is that of another program, damaged, or with wrong results.
std::optional<std::vector<LogRun>> runs_of_json(const std::string& text, const std::string& path);

}  // namespace fourfold::inline scaling::inline calibrate
