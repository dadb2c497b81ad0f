// Tables of a measured campaign: what the engine took, and its simulated twin beside it.
#pragma once

#include <string>

#include "scaling/study/study.hpp"
#include "scaling/words/text_table.hpp"

namespace fourfold::inline scaling::inline study {

bool is_measured(const Study& study);
std::string measured_text(const Study& study, Width width);

}  // namespace fourfold::inline scaling::inline study
