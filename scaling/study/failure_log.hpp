// Points that failed, with their reasons, beside the records: one a line of JSON, the newest last.
#pragma once

#include <map>
#include <string>

namespace fourfold::inline scaling::inline study {

// Appends and syncs. Throws std::runtime_error with a sentence if it cannot.
void log_failure(const std::string& path, const std::string& key, const std::string& why);

// The newest reason by the key of its record; empty without the file. A line that is no failure,
// say one that was cut off, is skipped.
std::map<std::string, std::string> logged_failures(const std::string& path);

}  // namespace fourfold::inline scaling::inline study
