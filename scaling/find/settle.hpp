// The best by estimate of the options that a system or the user leaves open, each with its own
// search over grids and micro-batches.
#pragma once

#include "platforms/platform.hpp"
#include "scaling/records/finding.hpp"
#include "scaling/records/question.hpp"

namespace fourfold::inline scaling::inline find {

struct Settled {
  Question question;
  SearchResult search;  // its candidates; see candidates()
};

// The question with those options of its variants whose best grid and micro-batches are estimated
// to take least time; the first of equals, and the question itself if it has no choice. Throws
// FindingFailed if none of them fits, with the reason of the first.
Settled settled(const Question& question, const Platform& platform, const ProgressWatch& watch);

}  // namespace fourfold::inline scaling::inline find
