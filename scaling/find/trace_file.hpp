// The trace of a record's point: of the devices that its simulation logged, or of the closed form.
#pragma once

#include <string>

#include "scaling/records/record.hpp"

namespace fourfold::inline scaling::inline find {

// Returns a sentence: which devices and how much of the step the file shows, and where to open it.
// Throws std::runtime_error with a sentence if the file cannot be written.
std::string write_trace_of(const Record& record, const std::string& path);

}  // namespace fourfold::inline scaling::inline find
