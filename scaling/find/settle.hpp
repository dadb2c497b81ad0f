// The best of a system's options by estimate: the one place that searches what is beyond grids and
// micro-batches.
#pragma once

#include "scaling/find/finding.hpp"
#include "scaling/find/question.hpp"

namespace fourfold {

// The question with those options of its variants whose best grid and micro-batches are estimated
// to take least time; the first of equals, and the question itself if it has no variants. Throws
// FindingFailed if none of them fits, with the reason of the first.
Question settled(const Question& question, const Watch& watch);

}  // namespace fourfold
