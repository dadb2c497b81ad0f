// Layers on the stages of a pipeline as someone says them.
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

// Llama 3 405B: 126 layers on 16 stages of 8 chunks, the first and the last chunk empty
// (Grattafiori et al., arXiv:2407.21783, section 3.3.2), which is how they are shared out if
// nothing is said.
TEST(LayersPerStage, MayBeThoseOfLlama) {
  const LayersPerStage given = LayersPerStage::parse("7,14x8,7");
  ASSERT_EQ(given.fault(126, 16, 8), "");
  for (std::int64_t chunk = 0; chunk < 128; ++chunk) {
    EXPECT_EQ(given.of_chunk(16, 8, chunk), layers_of_chunk(126, 128, chunk)) << chunk;
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

}  // namespace
}  // namespace fourfold::tests
