// The order of the data for a seed must not drift, or no run could be repeated, nor what a
// checkpoint's sum is, or none could be read: places, words and sums.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "engine/train/checkpoint/checkpoint_checksum.hpp"
#include "engine/train/data/data.hpp"
#include "tests/golden.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

std::string made_up_text() {
  std::string text;
  for (int i = 0; i < 1500; ++i) text += std::to_string(1000 + i);
  return text;
}

std::string words_of(const LocalBatch& batch) {
  std::string text;
  const auto add = [&](const std::vector<std::int32_t>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i > 0 && i % 8 == 0) text += ' ';  // the next sequence
      text += static_cast<char>(words[i]);
    }
  };
  add(batch.tokens);
  text += '|';
  add(batch.targets);
  return text + '\n';
}

TEST(KeptNumbers, OfTheDataAreTheGoldenOnes) {
  const SharedFolder folder;
  std::string text;
  for (const auto& [size, key] : {std::pair{1, 1}, {2, 1}, {7, 1}, {16, 5}, {17, 5}, {33, 9}}) {
    for (std::int64_t i = 0; i < size; ++i) {
      text += fmt::format("{} ", permuted(i, size, static_cast<std::uint64_t>(key)));
    }
    text += '\n';
  }
  DataOptions options;
  options.files = {folder.write("text.txt", made_up_text())};
  options.seed = 3;
  for (DataOrder order : {DataOrder::shuffled, DataOrder::sequential}) {
    options.order = order;
    const Data data(options, {"bytes", 1, 8, 2, 8, 256});
    text += data.description() + fmt::format(": {} and {} sequences\n", data.training_sequences(),
                                             data.held_out().count());
    for (std::int64_t position : {0, 5, 663, 664, 671, 700, 1400}) {
      text += words_of(data.training(position, {ProcessGrid(1, 1, 1, 1), 0, 2, 1}));
      text += words_of(data.training(position, {ProcessGrid(1, 1, 2, 2), 3, 8, 2}));
    }
    for (std::int64_t position : {0, 1, 60}) {
      text += words_of(data.held_out().batch(position, {ProcessGrid(1, 1, 1, 1), 0, 2, 1}));
    }
    text += fmt::format("{:.9g} nats\n", unigram_entropy(data.validation_words(), 256));
  }
  const std::vector<float> values{1.0F, -2.5F, 0.0F};
  EXPECT_EQ(checksum(values, 0), 0x9dd0f08f37a97caeU);
  EXPECT_EQ(checksum(values, 5), 0x3159e81a6aa00fe2U);
  EXPECT_EQ(checksum("a text"), 0x36a125529c5e31fbU);
  expect_golden("train_numbers.txt", text);
}

}  // namespace
}  // namespace fourfold::tests
