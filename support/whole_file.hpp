// A file written whole or not at all; for every interpreter that leaves one.
#pragma once

#include <string>

namespace fourfold {

// Replaces the file in one step; what is no plain file (say, /dev/stdout) is written in place.
// Throws std::runtime_error with a sentence if not every byte can be written; then the old file, or
// none, stays.
void write_whole_file(const std::string& path, const std::string& content);

// The same refusal before the work; leaves everything as it is.
void refuse_unwritable(const std::string& path);

}  // namespace fourfold
