// Text of files and names as a shell takes it for one word.
#pragma once

#include <string>

namespace fourfold::inline support {

// Letters that mean nothing to a shell, nor, at a line's end or within a word, to a scheduler.
inline constexpr const char* plain_letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-,:=@";

// Between quotes, whatever its letters.
std::string shell_word(const std::string& text);

// In quotes only where it needs them; a path or name that would be a flag gets ./ before it.
std::string shell_argument(const std::string& text);

}  // namespace fourfold::inline support
