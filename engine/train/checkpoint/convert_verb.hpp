// fourfold-engine checkpoint: import and export of checkpoints in the layout of others.
#pragma once

#include "engine/train/verbs.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

int run_checkpoint_verb(const Started& started);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
