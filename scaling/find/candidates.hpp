// The grids and micro-batches that can answer a question, ordered by estimate: all of them, or
// those the question names.
#pragma once

#include "platforms/platform.hpp"
#include "scaling/find/finding.hpp"
#include "scaling/find/question.hpp"
#include "sim/estimate/search.hpp"

namespace fourfold {

// Never empty: throws FindingFailed that says why nothing can run and how far off it is.
SearchResult candidates(const Question& question, const Platform& platform, const Watch& watch);

}  // namespace fourfold
