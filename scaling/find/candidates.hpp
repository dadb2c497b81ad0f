// The grids and micro-batches that can answer a question, ordered by estimate: all of them, or
// those the question names.
#pragma once

#include "platforms/platform.hpp"
#include "scaling/records/finding.hpp"
#include "scaling/records/question.hpp"
#include "sim/estimate/search.hpp"

namespace fourfold::inline scaling::inline find {

// Never empty: throws FindingFailed that says why nothing can run and how far off it is.
SearchResult candidates(const Question& question, const Platform& platform,
                        const ProgressWatch& watch);

}  // namespace fourfold::inline scaling::inline find
