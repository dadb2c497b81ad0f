// The words with which a model ends a text, as a checkpoint says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/train/checkpoint/checkpoint.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

// A zero byte, which ends a document (engine/train/data/documents.hpp); no text holds it.
inline constexpr std::int32_t end_byte = 0;

// Those that came with an imported model; of a model of bytes the zero byte; of one of tokens made
// here none, since its tokenizer is not known. Throws std::runtime_error with half a sentence that
// follows the checkpoint's name if what it says are no words of the model.
std::vector<std::int32_t> end_words_of(const TrainingState& state);

// What eos_token_id of such a file says, which may be beyond the vocabulary; none if it says
// nothing. Throws std::runtime_error that starts with the file's name.
std::vector<std::int64_t> end_words_said(const std::string& file, const std::string& text);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
