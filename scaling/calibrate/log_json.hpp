// Logs as JSON: what nccl-tests writes with --output_file, and nvbandwidth with --json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scaling/calibrate/collective_log.hpp"

namespace fourfold::inline scaling::inline calibrate {

// An object, or an array of them.
bool begins_with_json(const std::string& text);

// What a container printed, of which runtimes keep a line as {"log": "...", "stream": "stdout"};
// nothing for a text that is not kept so.
std::optional<std::string> text_of_container(const std::string& text);

// Of all objects that follow one another. Throws std::runtime_error that begins with the path where
// one is that of another program, damaged, or with wrong results.
std::vector<LogRun> runs_of_json(const std::string& text, const std::string& path);

}  // namespace fourfold::inline scaling::inline calibrate
