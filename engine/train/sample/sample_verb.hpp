// fourfold-engine sample: flags, plan and work of `fourfold sample`, under mpirun where there are
// several ranks.
#pragma once

#include "engine/train/verbs.hpp"

namespace fourfold::inline engine::inline train::inline sample {

int run_sample_verb(const Started& started);

}  // namespace fourfold::inline engine::inline train::inline sample
