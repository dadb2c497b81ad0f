// Refuses machines that cannot exist, where single numbers are fine but do not fit together.
#pragma once

#include "platforms/platform.hpp"

namespace fourfold {

// Throws std::runtime_error with one sentence that names the file and what is impossible.
void check(const Platform& platform);

}  // namespace fourfold
