// The memory of each row of a study by role.
#pragma once

#include <string>

#include "scaling/study/study.hpp"
#include "scaling/words/text_table.hpp"

namespace fourfold::inline scaling::inline study {

// GB on a device at its peak: of all stages of a pipeline, the fullest, which is named.
std::string memory_table(const Study& study, Width width);

}  // namespace fourfold::inline scaling::inline study
