// Files that are read twice, by what they are and hold, not by their names.
#pragma once

#include <string>
#include <vector>

#include "engine/train/data/data.hpp"

namespace fourfold::inline engine::inline train::inline data {

// A sentence for each file to train on that is given twice, or holds what another one holds; and
// for each file to validate on that is also trained on. Of files of one length some million words
// are compared, of all others nothing: a passage that two of them have in common is not found.
std::vector<std::string> repeated_files(const Data& data);

}  // namespace fourfold::inline engine::inline train::inline data
