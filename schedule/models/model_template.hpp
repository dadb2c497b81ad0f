// A model file to start from, with every key explained.
#pragma once

#include <string>

namespace fourfold {

// Made from the table of a model's fields: a new field appears by itself. read_model reads it.
std::string model_template();

}  // namespace fourfold
