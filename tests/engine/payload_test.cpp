// What the lockstep rung really moves is what the counted rung says, byte by byte.
#include <gtest/gtest.h>

#include "tests/engine/tiny.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold {
namespace {

TEST(Payload, EqualsTheCountedRungOnEveryChannel) {
  std::mt19937 random(tiny_seed);
  for (const char* text : {"1x1x1x1", "2x2x2x1", "4x3x1x1", "1x2x4x1", "2x1x2x2", "1x1x1x4"}) {
    const ProcessGrid grid = ProcessGrid::parse(text);
    for (std::int64_t micro_batches : {1, 2, 4}) {
      const Model model = tiny_model(3);
      const StepOptions options = random_options(random, micro_batches);
      const std::int64_t sequences = 16;

      const Counts expected = counted(model, options, grid, sequences).counts;
      Lockstep<float> run(model, options, grid, tiny_seed);
      const StageResult result =
          run.step(random_batch(model, sequences, tiny_seed), {}).stages.front();

      ASSERT_EQ(result.payload.size(), expected.payload.size());
      for (std::size_t channel = 0; channel < result.payload.size(); ++channel) {
        EXPECT_EQ(result.payload[channel], expected.payload[channel])
            << text << " channel " << channel << " " << described(options);
      }
    }
  }
}

}  // namespace
}  // namespace fourfold
