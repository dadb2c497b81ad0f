// Training systems as text and as JSON: the list, and one with the source of each fact.
#pragma once

#include <string>
#include <vector>

#include "scaling/systems/system.hpp"

namespace fourfold::inline scaling::inline text {

std::string systems_text(const std::vector<System>& systems);
std::string systems_json(const std::vector<System>& systems);  // one line
std::string system_text(const System& system);
std::string system_json(const System& system);  // one line

}  // namespace fourfold::inline scaling::inline text
