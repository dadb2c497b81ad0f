// How layers are dealt out to the chunks of all stages.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedule/models/gpt.hpp"

namespace fourfold::tests {
namespace {

std::vector<std::int64_t> dealt_out(std::int64_t layers, std::int64_t chunks) {
  std::vector<std::int64_t> all;
  std::int64_t next = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const auto [first, end] = layers_of_chunk(layers, chunks, chunk);
    EXPECT_EQ(first, next) << "each begins where the one before ends";
    all.push_back(end - first);
    next = end;
  }
  EXPECT_EQ(next, layers);
  return all;
}

std::string words(std::int64_t layers, std::int64_t chunks) {
  std::string text;
  for (std::int64_t count : dealt_out(layers, chunks)) text += std::to_string(count) + ' ';
  return text;
}

TEST(LayersOfChunk, AreOneMoreInTheMiddle) {
  EXPECT_EQ(words(9, 4), "2 2 3 2 ");
  EXPECT_EQ(words(10, 4), "2 3 3 2 ");
  EXPECT_EQ(words(11, 4), "2 3 3 3 ");
  EXPECT_EQ(words(7, 5), "1 1 2 2 1 ");
  EXPECT_EQ(words(6, 5), "1 1 2 1 1 ");
  EXPECT_EQ(words(3, 2), "1 2 ");
  EXPECT_EQ(words(5, 1), "5 ");
}

// All chunks have as many or one more; those that have more stand together, and as many others
// before them as behind, or one more.
TEST(LayersOfChunk, AreEquallyManyButForTheRest) {
  for (std::int64_t chunks = 1; chunks <= 16; ++chunks) {
    for (std::int64_t layers = chunks; layers <= 60; ++layers) {
      const std::vector<std::int64_t> all = dealt_out(layers, chunks);
      const std::int64_t each = layers / chunks, rest = layers % chunks;
      const std::int64_t before = (chunks - rest + 1) / 2;
      for (std::int64_t c = 0; c < chunks; ++c) {
        const bool longer = c >= before && c < before + rest;
        EXPECT_EQ(all[static_cast<std::size_t>(c)], each + (longer ? 1 : 0))
            << layers << " to " << chunks;
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
