// Documents completed by a model: it is given each one's prompt and writes as many words as the
// completion has, always the likeliest; how many of them are equal tells what it knows by heart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/train/data/documents.hpp"
#include "engine/train/sample/sampler.hpp"

namespace fourfold::inline engine::inline train::inline sample {

struct Completions {
  std::vector<std::int64_t> equal;  // words before the first that differs, by document
  std::vector<std::int64_t> words;  // of the completion, by document
  double seconds = 0.0;

  // Documents that are completed word for word.
  std::int64_t whole() const;
  std::int64_t all_words() const;
};

// The documents of a .jsonl file. Throws std::runtime_error with a sentence that names the file.
std::vector<Document> read_documents(const std::string& path);

// Those of equal lengths are written side by side, as many at a time as the sampler has texts.
// Collective.
Completions complete(const std::vector<Document>& documents, std::int64_t side_by_side,
                     Decoding decoding, Sampler& sampler);

}  // namespace fourfold::inline engine::inline train::inline sample
