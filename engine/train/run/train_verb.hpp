// fourfold-engine train: flags, plan and work of `fourfold train`, under mpirun where there are
// several ranks.
#pragma once

#include "engine/train/verbs.hpp"

namespace fourfold::inline engine::inline train::inline run {

int run_train_verb(const Started& started);

}  // namespace fourfold::inline engine::inline train::inline run
