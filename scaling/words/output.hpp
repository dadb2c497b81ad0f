// Answers on standard output, and notes beside them on standard error.
#pragma once

#include "platforms/platform.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline scaling::inline words {

// What a platform's file leaves open (notice.hpp), to standard error.
void print_notices(const Platform& platform);

}  // namespace fourfold::inline scaling::inline words
