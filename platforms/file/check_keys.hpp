// Which keys of a platform file nobody knows and which are missing: all of them at once.
#pragma once

#include <toml++/toml.h>

#include <string>

namespace fourfold::inline platforms::inline file {

// Throws std::runtime_error: one sentence, or a line for each wrong key. A key that is missing
// while a similar unknown one stands in the same table is taken for misspelt and named once.
void check_keys(const std::string& path, const toml::table& file);

}  // namespace fourfold::inline platforms::inline file
