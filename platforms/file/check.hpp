// Refuses machines that cannot exist, where single numbers are fine but do not fit together.
#pragma once

#include <string>

#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline file {

// Throws std::runtime_error with one sentence that names the file and what is impossible.
void check(const Platform& platform);

// Its parts, which live in files of their own.
void check_library(const Platform& platform);
void check_network(const Platform& platform);
[[noreturn]] void refuse(const Platform& platform, const std::string& message);

}  // namespace fourfold::inline platforms::inline file
