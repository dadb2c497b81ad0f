// Model files, written: of a model, and one to start from with every key explained.
#pragma once

#include <string>

#include "schedule/models/model.hpp"

namespace fourfold::inline schedule::inline models {

// Lines of a text as comments of such a file.
std::string in_comment(const std::string& text);

// read_model reads the same model from it, whatever its block.
std::string model_file_text(const Model& model);

// Made from the table of a model's fields: a new field appears by itself. read_model reads it.
std::string model_template();

}  // namespace fourfold::inline schedule::inline models
