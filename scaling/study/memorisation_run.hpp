// Runs a memorisation study to its end or to Ctrl-C: a training run a core, side by side, and what
// is made of their records.
#pragma once

#include "scaling/study/campaign_run.hpp"
#include "scaling/study/memorisation.hpp"

namespace fourfold::inline scaling::inline study {

// Runs whose records are there are kept. Returns the exit status. Throws Interrupted after a
// sentence that says how to go on, and std::runtime_error if nothing more can be done.
int run_memorisation(const MemorisationStudy& study, const CampaignOrder& order);

}  // namespace fourfold::inline scaling::inline study
