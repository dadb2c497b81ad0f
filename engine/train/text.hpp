// The text that training falls back on, so that a first run needs no download: the fortunes that
// Debian ships, 2.4 MB of English sayings, songs and definitions.
#pragma once

#include <string>
#include <vector>

namespace fourfold {

// The fortune files of a folder in sorted order, without their indexes (.dat) and links (.u8).
// Throws std::runtime_error that names the package to install if there are none.
std::vector<std::string> default_text(const std::string& folder = "/usr/share/games/fortunes");

}  // namespace fourfold
