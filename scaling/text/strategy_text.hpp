// A search over whole strategies as text for people.
#pragma once

#include <string>

#include "scaling/find/strategy_finding.hpp"
#include "scaling/words/text_table.hpp"

namespace fourfold::inline scaling::inline text {

// The best, what cannot run and by how much, and how much each choice matters if that was asked.
std::string strategy_text(const StrategyFinding& finding, Width width = Width::page);

}  // namespace fourfold::inline scaling::inline text
