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

// A grid that is stated needs more memory than there is.
struct NeedsMore : DoesNotFit {
  NeedsMore(const std::string& why, Bytes need) : DoesNotFit(why), least(need) {}
  Bytes least;
};

// Never empty: throws FindingFailed that says why nothing can run and how far off it is.
SearchResult candidates(const Question& question, const Platform& platform,
                        const ProgressWatch& watch);

// The fastest of them alone where it takes less than `most`, which is found much sooner than all
// that are slower; on grids on which the question's options are not in effect what one of `known`
// is, which was searched before. The question names no grid, and its devices are there.
SearchResult fastest_candidate(const Question& question, const Platform& platform, Seconds most,
                               const std::vector<StepOptions>& known, const ProgressWatch& watch);

// The end of the sentence that says no to all choices of a system's options.
std::string of_all_choices(const Question& question);

// Counts what another search tried, and keeps the closest miss of both.
void add_tried(SearchResult& all, SearchResult one);

// Of a question of several choices of options, none of which fits: `all` is what was tried with any
// of them.
[[noreturn]] void refuse_all(const Question& question, const Platform& platform, SearchResult all,
                             const ProgressWatch& watch);

}  // namespace fourfold::inline scaling::inline find
