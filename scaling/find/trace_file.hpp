// The trace of a record's point: of the devices that its simulation logged, or of the closed form.
#pragma once

#include <string>

#include "scaling/records/record.hpp"

namespace fourfold::inline scaling::inline find {

// Throws std::runtime_error with a sentence if the file cannot be written.
void write_trace_of(const Record& record, const std::string& path);

}  // namespace fourfold::inline scaling::inline find
