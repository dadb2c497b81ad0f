// What a checkpoint remembers of the files it was imported from, in its record; and what stands in
// for them where a model was made here. Whatever a record says is data that anybody may have
// written: names are plain, and all must fit the model.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/checkpoint/hugging_face.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

// For the trainer's part of the record, under "imported". `from` is told to people only.
nlohmann::json imported_json(const ForeignCheckpoint& foreign, const std::string& from);

// What an export of this state starts from; without the files that were carried along, whose names
// come beside it. Throws std::runtime_error with half a sentence that follows the checkpoint's
// name.
struct Remembered {
  ForeignCheckpoint foreign;
  std::vector<std::string> files;
  bool imported = false;
};
Remembered remembered_of(const TrainingState& state);

// The same text with another type of numbers, and another end word.
std::string config_with_type(const std::string& config, NumberType type);
std::string config_with_end_word(const std::string& config, std::int64_t word);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
