// The grids and micro-batches that can answer a question, ordered by estimate: all of them, or
// those the question names.
#pragma once

#include <optional>
#include <vector>

#include "platforms/platform.hpp"
#include "scaling/records/finding.hpp"
#include "scaling/records/question.hpp"
#include "sim/estimate/search.hpp"

namespace fourfold::inline scaling::inline find {

// Never empty: throws FindingFailed that says why nothing can run and how far off it is.
SearchResult candidates(const Question& question, const Platform& platform,
                        const ProgressWatch& watch);

// The seconds of the fastest of them where it takes less than `most`, which is found much sooner
// than all that are slower; on grids on which the question's options are not in effect what one of
// `known` is, which was searched before. The question names no grid, and its devices are there.
std::optional<Seconds> least_seconds(const Question& question, const Platform& platform,
                                     Seconds most, const std::vector<StepOptions>& known,
                                     const ProgressWatch& watch);

}  // namespace fourfold::inline scaling::inline find
