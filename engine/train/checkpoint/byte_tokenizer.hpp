// The vocabulary of a model whose words are bytes, as the tokenizers of others write theirs: byte b
// is word b, and nothing is merged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/train/checkpoint/carried_files.hpp"
#include "schedule/models/model.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

// tokenizer.json and tokenizer_config.json.
CarriedFiles byte_tokenizer(const Model& model);

// The text of a generation_config.json; none: no word ends a text.
std::string generation_with_end_word(std::optional<std::int64_t> word);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
