// Files of tokens as nanoGPT and llm.c write them, and what a stream reads of files.
#pragma once

#include <string>
#include <vector>

#include "engine/train/data/data.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {

template <typename Word>
std::string bytes_of(const std::vector<Word>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(Word)};
}

inline constexpr std::int32_t magic_of_16_bits = 20'240'520, magic_of_32_bits = 20'240'801;

// llm.c's, with the first three numbers of its header.
template <typename Word>
std::string headed(const std::vector<std::int32_t>& first, const std::vector<Word>& tokens,
                   std::size_t header_bytes = 1024) {
  std::vector<std::int32_t> header(256, 0);
  std::ranges::copy(first, header.begin());
  return bytes_of(header).substr(0, header_bytes) + bytes_of(tokens);
}

inline std::vector<std::int32_t> all_words(const std::vector<std::string>& paths,
                                           std::int64_t token_bits = 0,
                                           std::int64_t vocabulary = 70'000) {
  const WordStream words(paths, {0.0, 1.0}, token_bits);
  refuse_idle_bits({&words});
  std::vector<std::int32_t> read;
  words.read(0, words.words(), vocabulary, read);
  return read;
}

inline BatchShare on_one_rank(std::int64_t sequences, std::int64_t micro_batches = 1) {
  return {ProcessGrid(1, 1, 1, 1), 0, sequences, micro_batches};
}

}  // namespace fourfold::tests
