// Steps drawn over all options: what is trained is what it was, losses, norms and sums over
// weights, gradients and roundings; and what the lockstep rung really moves is what the counted
// rung says, byte by byte.
#include "tests/drawn_steps.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/engine/drawn_training.hpp"
#include "tests/engine/tiny.hpp"
#include "tests/golden.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

constexpr std::uint64_t optimizer_steps = 2;

template <typename T>
double squares(const Matrix<T>& matrix) {
  double sum = 0.0;
  for (T value : matrix.values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

TEST(DrawnSteps, OfOneDeviceTrainTheGoldenNumbers) {
  Lockstep<double> run(trained_model, StepOptions{}, {1, 1, 1, 1}, tiny_seed);
  std::string text;

  for (const StepResult& step : train(run, 6, 5)) {
    text += fmt::format("loss {:.12g} norm {:.12g}\n", step.loss, step.gradient_norm);
  }

  for (const std::string& parameter : run.parameters()) {
    text += fmt::format("{}: weight {:.10g} gradient {:.10g}\n", parameter,
                        squares(run.weight(parameter)), squares(run.gradient(parameter)));
  }
  expect_golden_numbers("trained.txt", text, 1e-7);
}

// Rounded where the schedule says; what is rounded depends on the grid and on the options.
TEST(DrawnSteps, RoundAsTheGoldenNumbers) {
  std::string text;
  for (std::int64_t number = 0; number < 64; number += 9) {
    DrawnStep step = drawn_step(number, most_trained_devices, trained_model);
    if (step.batch > most_trained_sequences) continue;
    step.options.precision = Precision::bf16;
    Lockstep<float> run(step.model, step.options, step.grid, tiny_seed, Rounding::recorded);
    text += fmt::format("{}: {}\n ", number, words_of(step));

    for (const StepResult& result : train(run, step.batch, optimizer_steps)) {
      text += fmt::format(" {:.8g} {:.8g}", result.loss, result.gradient_norm);
    }

    double sum = 0.0;
    for (const std::string& parameter : run.parameters()) sum += squares(run.weight(parameter));
    text += fmt::format(" {:.8g}\n", sum);
  }
  expect_golden_numbers("trained_bf16.txt", text, 1e-5);
}

// Over all options, however their sum is put together: buckets, stages, ZeRO.
TEST(DrawnSteps, HaveTheNormOfAllTheirGradients) {
  for (std::int64_t number = 1; number <= 90; number += 4) {
    const DrawnStep step = drawn_step(number, most_trained_devices, trained_model);
    if (step.batch > most_trained_sequences) continue;
    SCOPED_TRACE(fmt::format("{}: {}", number, words_of(step)));
    Lockstep<double> run(step.model, step.options, step.grid, tiny_seed);

    const double norm = run.step(random_batch(step.model, step.batch, tiny_seed), {}).gradient_norm;

    double sum = 0.0;
    for (const std::string& parameter : run.parameters()) sum += squares(run.gradient(parameter));
    EXPECT_NEAR(norm, std::sqrt(sum), 1e-9 * norm);
  }
}

// Whatever the grid and the options: of every stage, messages and collectives between stages
// included.
TEST(DrawnSteps, MoveWhatTheCountedRungSays) {
  const Model model{"tiny", 4, 24, 12, 4, 29};
  int pipelines = 0;
  for (std::int64_t number = 0; number < 90; number += 6) {
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
