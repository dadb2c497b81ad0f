// fourfold bench: measures this machine and says how fast each part of a training step is.
#pragma once

#include "engine/train/verbs.hpp"

namespace fourfold::inline bench::inline cli {

// Returns the exit status: 0 measured, 1 something was computed wrong, 2 it could not be measured.
int run_bench_verb(const Started& started);

}  // namespace fourfold::inline bench::inline cli
