// What to say about a mistyped name: the sentence that offers the nearest known one.
#pragma once

#include <string>
#include <vector>

#include "platforms/nearest_name.hpp"

namespace fourfold {

// Example: "unknown verb 'serach'; the nearest known is 'search'".
std::string unknown_name(const std::string& what, const std::string& word,
                         const std::vector<std::string>& known);

}  // namespace fourfold
