// A file written whole or not at all.
#pragma once

#include <string>

namespace fourfold {

// Throws std::runtime_error with a sentence; an older file then stays.
void write_whole_file(const std::string& path, const std::string& content);

// The same refusal before the work: makes its folder, opens it for writing and leaves it as it is.
void refuse_unwritable_file(const std::string& path);

}  // namespace fourfold
