// Points that failed, with their reasons, beside the records: one a line of JSON, the newest last.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace fourfold::inline scaling::inline study {

// no: the point was answered, and nothing fits; asked again it would be no once more.
enum class Failing : std::uint8_t { failed, no };

// Appends and syncs. Throws std::runtime_error with a sentence if it cannot.
void log_failure(const std::string& path, const std::string& key, const std::string& why,
                 Failing failing = Failing::failed);

// The newest reason by the key of its record; empty without the file. A line that is no failure,
// say one that was cut off, is skipped. `failing` no: of those alone.
std::map<std::string, std::string> logged_failures(const std::string& path,
                                                   Failing failing = Failing::failed);

}  // namespace fourfold::inline scaling::inline study
