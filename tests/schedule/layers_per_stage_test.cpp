// Layers on the stages of a pipeline: as someone says them, and as they are dealt out to the chunks
// if nothing is said.
#include "schedule/program/layers_per_stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/models/gpt.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

TEST(LayersPerStage, AreReadAndWritten) {
  for (const auto& [text, same] :
       std::vector<std::pair<std::string, std::string>>{{"15,16,15", "15,16,15"},
                                                        {"15,16,16,15", "15,2x16,15"},
                                                        {"2x3,3,1", "3x3,1"},
                                                        {"0,1,1,0", "0,2x1,0"},
                                                        {"even", "even"}}) {
    const LayersPerStage read = LayersPerStage::parse(text);
    EXPECT_EQ(read.str(), same);
    EXPECT_EQ(LayersPerStage::parse(read.str()), read);
    EXPECT_EQ(read.said(), text != "even");
  }
  for (const char* text : {"", ",", "3,", "a", "3,-1", "3x", "x3", "0x4", "1x2x3", "3 4",
                           "9999999999", "999999x1,2x1", "1e3"}) {
    EXPECT_THAT(refusal<std::invalid_argument>([&] { LayersPerStage::parse(text); }),
                HasSubstr("is no list of layers"))
        << text;
  }
}

// Every layer is on one chunk, in order, and each stage has as many as are said.
TEST(LayersPerStage, DealOutEveryLayer) {
  for (const char* text : {"7,14x8,7", "1,2,3,4", "5,5", "9,1,1,9", "3x4,3"}) {
    const LayersPerStage given = LayersPerStage::parse(text);
    for (std::int64_t stages = 2; stages <= 16; ++stages) {
      for (std::int64_t chunks = 1; chunks <= 8; ++chunks) {
        for (std::int64_t layers = 1; layers <= 126; ++layers) {
          if (!given.fault(layers, stages, chunks).empty()) continue;
          std::int64_t next = 0, fewest = layers;
          for (std::int64_t chunk = 0; chunk < stages * chunks; ++chunk) {
            const auto [first, end] = given.of_chunk(stages, chunks, chunk);
            EXPECT_EQ(first, next);
            fewest = std::min(fewest, end - first);
            next = end;
          }
          EXPECT_EQ(next, layers) << text;
          EXPECT_EQ(fewest, given.fewest(stages, chunks)) << text;
        }
      }
    }
  }
}

TEST(LayersPerStage, ThatDoNotFitAreRefused) {
  const auto fault = [](const char* text, std::int64_t layers, std::int64_t stages,
                        std::int64_t chunks) {
    return LayersPerStage::parse(text).fault(layers, stages, chunks);
  };
  EXPECT_EQ(fault("3,4,3", 10, 3, 1), "");
  EXPECT_EQ(fault("0,1,1,1,1,0", 4, 3, 2), "");
  EXPECT_THAT(fault("3,4,3", 10, 4, 1), HasSubstr("for 3 stages; give 4, one for each stage"));
  EXPECT_THAT(fault("3,4,3", 10, 4, 2), HasSubstr("or 8, one for each chunk"));
  EXPECT_THAT(fault("3,4,3", 12, 3, 1), HasSubstr("are 10 together; the model has 12"));
  EXPECT_THAT(fault("5,0,5", 10, 3, 1), HasSubstr("stage 1 has no layer"));
  EXPECT_THAT(fault("0,5,5", 10, 3, 1), HasSubstr("stage 0 has no layer"));
}

// All chunks have as many or one more; those that have more stand together, and as many others
// before them as behind, or one more.
TEST(LayersOfChunk, AreEquallyManyButForTheRest) {
  for (std::int64_t chunks = 1; chunks <= 16; ++chunks) {
    for (std::int64_t layers = chunks; layers <= 60; ++layers) {
      const std::int64_t each = layers / chunks, rest = layers % chunks;
      const std::int64_t before = (chunks - rest + 1) / 2;
      std::int64_t next = 0;
      for (std::int64_t c = 0; c < chunks; ++c) {
        const bool longer = c >= before && c < before + rest;
        const auto [first, end] = layers_of_chunk(layers, chunks, c);
        EXPECT_EQ(first, next) << layers << " to " << chunks;
        EXPECT_EQ(end - first, each + (longer ? 1 : 0)) << layers << " to " << chunks;
        next = end;
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
