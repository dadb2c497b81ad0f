// Software as text and as JSON: the list, and one with the source of each fact.
#pragma once

#include <string>
#include <vector>

#include "platforms/software.hpp"

namespace fourfold::inline scaling::inline text {

std::string software_list_text(const std::vector<Software>& all);
std::string software_list_json(const std::vector<Software>& all);  // one line
std::string software_text(const Software& software);
std::string software_json(const Software& software);  // one line

}  // namespace fourfold::inline scaling::inline text
