// Files and standard output, written whole or not at all, with a sentence if that fails.
#pragma once

#include <string>

namespace fourfold {

// Replaces the file in one step. Throws std::runtime_error, and the old file stays.
void write_file(const std::string& path, const std::string& content);

// To standard output, checked to the last byte; a reader that left early is no error. Throws
// std::runtime_error.
void print(const std::string& text);

}  // namespace fourfold
