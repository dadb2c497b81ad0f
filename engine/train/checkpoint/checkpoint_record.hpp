// The JSON of a checkpoint: what it says and how it is told from a damaged one.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/train/checkpoint/checkpoint.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

struct CheckpointRecord {
  TrainingState state;
  std::int64_t serial = 0;  // counts the checkpoints written to a folder: the newest has most
  std::string data_file;    // in the same folder
  std::int64_t data_file_bytes = 0;
  std::uint64_t head_checksum = 0;
  std::map<std::string, std::uint64_t> checksums;  // by matrix
};

std::string text_of(const CheckpointRecord& record);

// Throws std::runtime_error with half a sentence that follows the file's name, if the text is
// damaged, no checkpoint, or one of another version.
CheckpointRecord parse_checkpoint_record(const std::string& text);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
