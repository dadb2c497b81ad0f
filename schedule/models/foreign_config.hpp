// The models that Hugging Face's config.json files describe, family by family: a row of a table
// says what a family's block is like, its keys say the numbers. What a block here cannot say is
// listed, with what is taken instead.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "schedule/models/model.hpp"

namespace fourfold::inline schedule::inline models {

// "sliding_window 4096", taken as "null", or as "" if nobody here knows the key; and how many
// parameters more the model has with it.
struct NotSaid {
  std::string what, taken;
  std::int64_t parameters = 0;
};

struct ForeignModel {
  Model model;
  std::vector<NotSaid> not_said;
};

// All that the file's model has.
std::int64_t parameter_count(const ForeignModel& foreign);

// "config.json says what no block here has: sliding_window 4096 (taken as null)"; empty if nothing.
std::string not_said_sentence(const std::string& file, const std::vector<NotSaid>& not_said);

// Throws std::runtime_error with half a sentence that follows the file's name where it describes no
// model that is known, its code (auto_map) or experts among others.
ForeignModel model_in_config(const nlohmann::json& config, const std::string& name);

// What the folder of a config.json is called, as a name.
std::string name_of_folder(const std::string& folder);

}  // namespace fourfold::inline schedule::inline models
