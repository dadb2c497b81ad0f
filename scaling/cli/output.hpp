// Standard output, written whole, with a sentence if that fails; and notes beside it.
#pragma once

#include <string>

#include "platforms/platform.hpp"

namespace fourfold {

// To standard output, checked to the last byte; a reader that left early is no error. Throws
// std::runtime_error.
void print(const std::string& text);

// What a platform's file leaves open (notice.hpp), to standard error.
void print_notices(const Platform& platform);

}  // namespace fourfold
