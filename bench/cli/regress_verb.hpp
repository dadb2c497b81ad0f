// fourfold regress: whether this machine is as fast as it was.
#pragma once

#include "engine/train/verbs.hpp"

namespace fourfold::inline bench::inline cli {

// Returns the exit status: 0 no regression, or recorded, 1 one, 2 it could not be measured.
int run_regress_verb(const Started& started);

}  // namespace fourfold::inline bench::inline cli
