// One answer as text for people: the projection of a point with its breakdown, and the search
// behind.
#pragma once

#include <string>

#include "scaling/records/record.hpp"

namespace fourfold::inline scaling::inline text {

// Seconds, where they went, memory, flop/s with their convention, every option, scales; `effect`
// says what what-ifs did, and `memory` more than the little that a record has.
std::string point_text(const Record& record, const std::string& effect = "",
                       const std::string& memory = "");

// The ten best grids with estimated and simulated seconds, what was rejected, tau and regret.
std::string search_text(const Record& record, const std::string& effect = "",
                        const std::string& memory = "");

}  // namespace fourfold::inline scaling::inline text
