// Files that are read twice, by what they are and hold, not by their names.
#pragma once

#include <string>
#include <vector>

#include "engine/train/data/data.hpp"

namespace fourfold::inline engine::inline train::inline data {

// A sentence for each file to train on, or to validate on, that is given twice, or holds what
// another one holds; and for each file to validate on that is also trained on, whole or as a part
// of a file, or that holds a file that is. Of files of one length some million words are compared,
// and parts are looked for in the first hundred million: a passage that two of them have in common
// is not found.
std::vector<std::string> repeated_files(const Data& data);

// A sentence for each that was given before: "b.txt is evaluated twice: it is a.txt". Each is the
// only one of its stream.
std::vector<std::string> evaluated_twice(const std::vector<WordStream>& streams,
                                         std::int64_t token_bits);

}  // namespace fourfold::inline engine::inline train::inline data
