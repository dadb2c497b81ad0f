// Lengths of pipelines that options ask for, where neither a grid nor a list of them is given.
#pragma once

#include "scaling/records/question.hpp"

namespace fourfold::inline scaling::inline records {

// Layers that are given for each stage, and orders that need a pipeline, decide its length where
// nobody else did: all lengths that they take are searched. Throws std::runtime_error with a
// sentence where layers are given for no length that can be searched.
void ask_for_stages(Question& question);

}  // namespace fourfold::inline scaling::inline records
