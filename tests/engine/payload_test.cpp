// What the lockstep rung really moves is what the counted rung says, byte by byte.
#include <gtest/gtest.h>

#include "tests/drawn_steps.hpp"
#include "tests/engine/tiny.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
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

// Whatever the options: of every stage, messages and collectives between stages included.
TEST(Payload, OfEveryStageOfDrawnStepsEqualsTheCountedRung) {
  const Model model{"tiny", 4, 24, 12, 4, 29};
  int pipelines = 0;
  for (std::int64_t number = 0; number < 60; number += 7) {
    const DrawnStep step = drawn_step(number, 8, model);
    if (step.batch > 24) continue;
    Lockstep<float> run(model, step.options, step.grid, tiny_seed);

    const StepResult result = run.step(random_batch(model, step.batch, tiny_seed), {});

    const std::int64_t stages = step.grid.extent(Axis::pipe);
    pipelines += stages > 1 ? 1 : 0;
    ASSERT_EQ(std::ssize(result.stages), stages);
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      const Counts expected = counted(folded_step(model, step.options, Stage{stage, stages}),
                                      step.grid, step.micro_batch_tokens())
                                  .counts;
      const std::vector<Bytes>& payload = result.stages[static_cast<std::size_t>(stage)].payload;
      ASSERT_EQ(payload.size(), expected.payload.size());
      for (std::size_t channel = 0; channel < payload.size(); ++channel) {
        EXPECT_EQ(payload[channel], expected.payload[channel])
            << words_of(step) << " stage " << stage << " channel "
            << name(expected.channels[channel]);
      }
    }
  }
  EXPECT_GE(pipelines, 2);
}

}  // namespace
}  // namespace fourfold::tests
