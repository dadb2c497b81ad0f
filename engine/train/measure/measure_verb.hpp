// fourfold-engine measure: what `fourfold calibrate` has this machine time, on one number of ranks.
#pragma once

#include "engine/train/verbs.hpp"

namespace fourfold::inline engine::inline train::inline measure {

int run_measure_verb(const Started& started);

}  // namespace fourfold::inline engine::inline train::inline measure
