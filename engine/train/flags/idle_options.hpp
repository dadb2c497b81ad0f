// Options that were typed and change nothing of a run.
#pragma once

#include <string>
#include <vector>

#include "engine/train/flags/settings.hpp"

namespace fourfold::inline engine::inline train::inline flags {

// Those without which all stages record the same steps on this grid: "--zero 3" where there is one
// replica; and what one rank has nobody to do with.
std::vector<std::string> idle_options(const TrainSettings& settings);

}  // namespace fourfold::inline engine::inline train::inline flags
