// What a name that is not known means: by the words of the trade (trade_words.hpp), or by its
// parts, runs of letters and of digits: "h100" is dgx-h100, "llama3-8b" llama3.1-8b.
#pragma once

#include <string>
#include <vector>

namespace fourfold::inline support {

// The first of equals; empty if it means none. nearest_name() goes by it before it goes by letters.
std::string meant_name(const std::string& name, const std::vector<std::string>& candidates);
// Whether a text has all parts of the name: "4 A100-40GB" has those of "a100".
bool has_parts_of(const std::string& text, const std::string& name);

}  // namespace fourfold::inline support
