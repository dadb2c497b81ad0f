// fourfold doctor: what is wrong with this machine before a study.
#pragma once

#include "engine/train/verbs.hpp"

namespace fourfold::inline bench::inline cli {

// Returns the exit status: 0 nothing is wrong, 1 something is, 2 it could not be examined.
int run_doctor_verb(const Started& started);

}  // namespace fourfold::inline bench::inline cli
