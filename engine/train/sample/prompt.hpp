// Between what people read and the words of a model: bytes where it was trained on text, numbers
// where it was trained on token shards, whose tokenizer Fourfold does not know.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/train/data/token_file.hpp"

namespace fourfold::inline engine::inline train::inline sample {

// The words a prompt stands for; a line end, or word 0 of shards, where it is empty. Throws
// std::runtime_error if it is not made of words of the vocabulary.
std::vector<std::int32_t> words_of_prompt(const std::string& prompt, TokenFormat format,
                                          std::int64_t vocabulary);

// Of a text that ends another, which is not empty. Throws as above.
std::vector<std::int32_t> words_of_stop(const std::string& stop, TokenFormat format,
                                        std::int64_t vocabulary);

// As it can be printed: bytes that are no text on a terminal are replaced, and words of such a text
// that are no bytes stand as "<300>".
std::string readable(const std::vector<std::int32_t>& words, TokenFormat format);
// Of words to which others will be added: without the letter at their end that may not be whole.
std::string readable_so_far(std::vector<std::int32_t> words, TokenFormat format);

}  // namespace fourfold::inline engine::inline train::inline sample
