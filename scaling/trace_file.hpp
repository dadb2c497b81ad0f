// The trace of a record's point, by the closed form.
#pragma once

#include <string>

#include "scaling/record.hpp"

namespace fourfold {

// Throws std::runtime_error with a sentence, before the work, if there will be no trace at `path`.
void refuse_trace(Fidelity fidelity, const std::string& path);

// Throws std::runtime_error with a sentence if the file cannot be written.
void write_trace_of(const Record& record, const std::string& path);

}  // namespace fourfold
