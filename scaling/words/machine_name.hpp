// What a table calls a machine.
#pragma once

#include <string>

namespace fourfold::inline scaling::inline words {

// "frontier" for both "frontier" and "/home/me/frontier.toml".
std::string machine_name(const std::string& platform);

}  // namespace fourfold::inline scaling::inline words
