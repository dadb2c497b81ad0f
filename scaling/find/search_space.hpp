// Which grids a question is searched on, and how likely they must have room.
#pragma once

#include "platforms/platform.hpp"
#include "scaling/records/question.hpp"
#include "sim/estimate/search.hpp"

namespace fourfold::inline scaling::inline find {

double risk_of(const Question& question);

// Its own grid, those that its system looks at, or all of its devices, with all micro-batches. Both
// must outlive what is returned.
SearchSpace search_space(const Question& question, const Platform& platform);

}  // namespace fourfold::inline scaling::inline find
