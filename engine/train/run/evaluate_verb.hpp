// fourfold-engine evaluate: what `fourfold evaluate` starts.
#pragma once

#include "engine/train/verbs.hpp"

namespace fourfold::inline engine::inline train::inline run {

// Returns the exit status.
int run_evaluate_verb(const Started& started);

}  // namespace fourfold::inline engine::inline train::inline run
