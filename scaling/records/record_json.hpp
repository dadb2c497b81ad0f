// Records as lines of JSON: what is kept, read again and handed to other programs.
#pragma once

#include <stdexcept>
#include <string>

#include "scaling/records/record.hpp"

namespace fourfold::inline scaling::inline records {

std::string to_json(const Record& record);  // one line
// A record that another version of Fourfold wrote: intact, but of no use to this one.
struct OtherFormat : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws std::runtime_error with a sentence on anything missing, unknown or impossible;
// OtherFormat.
Record record_from_json(const std::string& text);

}  // namespace fourfold::inline scaling::inline records
