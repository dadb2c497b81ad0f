// Groups of documents through the sampler; see completions.hpp.
#include "engine/train/sample/completions.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <stdexcept>

#include "support/text_file.hpp"

namespace fourfold::inline engine::inline train::inline sample {

namespace {

std::vector<std::int32_t> words_of(const std::string& text) {
  std::vector<std::int32_t> words;
  for (unsigned char byte : text) words.push_back(byte);
  return words;
}

// From the start on.
std::int64_t equal_words(const std::vector<std::int32_t>& text, const Document& document) {
  const std::vector<std::int32_t> right = words_of(document.prompt + document.completion);
  const auto first = std::ranges::mismatch(text, right).in1;
  return first - text.begin() - static_cast<std::int64_t>(document.prompt.size());
}

}  // namespace

std::int64_t Completions::whole() const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < equal.size(); ++i) count += equal[i] == words[i] ? 1 : 0;
  return count;
}

std::int64_t Completions::all_words() const {
  return std::accumulate(words.begin(), words.end(), std::int64_t{0});
}

std::vector<Document> read_documents(const std::string& path) {
  const std::string text = read_text_file(path, "the documents");
  try {
    std::vector<Document> documents = parse_documents(text);
    for (const Document& document : documents) {
      if (document.prompt.empty()) throw std::runtime_error("has a document without a prompt");
      if (document.ends && !document.completion.empty()) continue;
      throw std::runtime_error("has a conversation of more than one answer, and one is completed");
    }
    return documents;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + " " + error.what());
  }
}

Completions complete(const std::vector<Document>& documents, std::int64_t side_by_side,
                     Decoding decoding, Sampler& sampler) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = Clock::now();
  Completions result;
  result.equal.assign(documents.size(), 0);
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> by_lengths;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    result.words.push_back(static_cast<std::int64_t>(documents[i].completion.size()));
    by_lengths[{documents[i].prompt.size(), documents[i].completion.size()}].push_back(i);
  }
  SamplingSettings greedy;
  greedy.temperature = 0.0;
  greedy.decoding = decoding;
  const auto at_once = static_cast<std::size_t>(side_by_side);
  for (const auto& [lengths, members] : by_lengths) {
    greedy.tokens = static_cast<std::int64_t>(lengths.second);
    for (std::size_t first = 0; first < members.size(); first += at_once) {
      // The last group is filled up with its last document.
      const auto member = [&](std::size_t i) {
        return members[std::min(first + i, members.size() - 1)];
      };
      Texts prompts;
      for (std::size_t i = 0; i < at_once; ++i) {
        prompts.push_back(words_of(documents[member(i)].prompt));
      }
      const Texts texts = sampler.draw(prompts, greedy);
      for (std::size_t i = 0; i < at_once; ++i) {
        result.equal[member(i)] = equal_words(texts[i], documents[member(i)]);
      }
    }
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return result;
}

}  // namespace fourfold::inline engine::inline train::inline sample
