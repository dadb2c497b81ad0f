// An explanation as text for people and as a JSON value.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "scaling/words/text_table.hpp"
#include "sim/explain/explanation.hpp"

namespace fourfold::inline scaling::inline text {

// Ends with the verdict. Every number with its unit.
std::string explanation_text(const Explanation& explanation, Width width = Width::page);

// Keys end in their unit: s, B, B_per_s.
nlohmann::json json_of(const Explanation& explanation);

}  // namespace fourfold::inline scaling::inline text
