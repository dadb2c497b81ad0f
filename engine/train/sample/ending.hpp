// Where a text that is drawn word by word ends before its length: at an end word of the model, or
// at a stop text. Neither is part of what is shown. Only drawn words count: a prompt may hold both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/train/flags/settings.hpp"

namespace fourfold::inline engine::inline train::inline sample {

enum class EndedBy : std::uint8_t { length, end_word, stop };
const char* name(EndedBy why);  // "length", "end word", "stop"

struct Ending {
  std::size_t words = 0;  // of the text, without what ended it
  EndedBy by = EndedBy::length;
};

// Of a text whose first `prompt` words were given. Words behind the first ending do not count.
Ending ending_of(const std::vector<std::int32_t>& text, std::size_t prompt, const Endings& endings);

// Whether the last word has ended the text; the earlier ones have not.
bool has_ended(const std::vector<std::int32_t>& text, std::size_t prompt, const Endings& endings);

// Words that are shown whatever follows: without an end of the text with which a stop may begin.
std::size_t sure_words(const std::vector<std::int32_t>& text, std::size_t prompt,
                       const Endings& endings);

// The words that end a text as --end-word says: "model" stands for those of the model, "none" for
// none, a number for that one. Throws std::runtime_error with a sentence.
std::vector<std::int32_t> end_words_asked(const std::string& flag,
                                          const std::vector<std::int32_t>& of_model,
                                          std::int64_t vocabulary);

}  // namespace fourfold::inline engine::inline train::inline sample
