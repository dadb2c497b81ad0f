// Standard output, written whole, with a sentence if that fails.
#pragma once

#include <string>

namespace fourfold {

// To standard output, checked to the last byte; a reader that left early is no error. Throws
// std::runtime_error.
void print(const std::string& text);

}  // namespace fourfold
