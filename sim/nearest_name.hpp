// The known name that a mistyped one most likely meant, for sentences about bad input.
#pragma once

#include <string>
#include <vector>

namespace fourfold {

// Least edit distance (insert, drop, replace or swap neighbours); ties go to the earlier name.
// Empty only if `known` is.
std::string nearest_name(const std::string& word, const std::vector<std::string>& known);

// Example: "unknown verb 'serach'; the nearest known is 'search'".
std::string unknown_name(const std::string& what, const std::string& word,
                         const std::vector<std::string>& known);

}  // namespace fourfold
