// The text of a TOML file, refused where no parser should see it, and text as a value in one.
#pragma once

#include <string>

namespace fourfold::inline support {

// A key of more parts than this, as in a.b.c, is refused: toml++ makes a table of each and takes
// them apart one within the other, on a stack that thousands would overflow.
inline constexpr int most_key_parts = 16;

// As read_whole_file. Throws std::runtime_error that names path and line of such a key.
std::string read_toml_text(const std::string& path, const std::string& what);

// Between quotes, whatever its letters; control characters in words (visible_text.hpp).
std::string toml_string(const std::string& text);

}  // namespace fourfold::inline support
