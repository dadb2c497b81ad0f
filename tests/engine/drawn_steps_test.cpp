// Steps drawn over all options train what one device trains with the usual ones, and what is
// trained is what it was: losses, norms and sums over weights, gradients and roundings.
#include "tests/drawn_steps.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/engine/tiny.hpp"
#include "tests/golden.hpp"

namespace fourfold::tests {
namespace {

constexpr std::uint64_t optimizer_steps = 2;

AdamW optimizer() {
  AdamW optimizer;
  optimizer.learning_rate = 3e-3;
  optimizer.beta1 = 0.8;
  optimizer.weight_decay = 0.2;
  optimizer.clip_norm = 0.7;
  return optimizer;
}

template <typename T>
std::vector<StepResult> train(Lockstep<T>& run, std::int64_t sequences, std::uint64_t steps) {
  roughen(run);
  std::vector<StepResult> results;
  for (std::uint64_t step = 0; step < steps; ++step) {
    results.push_back(run.step(random_batch(trained_model, sequences, step), optimizer()));
  }
  return results;
}

struct OneDevice {
  explicit OneDevice(std::int64_t sequences)
      : run(trained_model, StepOptions{}, {1, 1, 1, 1}, tiny_seed),
        steps(train(run, sequences, optimizer_steps)) {}
  Lockstep<double> run;
  std::vector<StepResult> steps;
};

TEST(DrawnSteps, TrainWhatOneDeviceTrains) {
  std::map<std::int64_t, OneDevice> one_device;
  for (std::int64_t number = 0; number < 64; number += 7) {
    const DrawnStep step = drawn_step(number, most_trained_devices, trained_model);
    if (step.batch > most_trained_sequences) continue;
    const OneDevice& expected = one_device.try_emplace(step.batch, step.batch).first->second;

    Lockstep<double> run(step.model, step.options, step.grid, tiny_seed);
    const std::vector<StepResult> steps = train(run, step.batch, optimizer_steps);

    constexpr double tolerance = 1e-9;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_NEAR(steps[i].loss, expected.steps[i].loss, tolerance) << words_of(step);
      EXPECT_NEAR(steps[i].gradient_norm, expected.steps[i].gradient_norm, tolerance)
          << words_of(step);
    }
    for (const std::string& parameter : run.parameters()) {
      EXPECT_LT(largest_difference(run.weight(parameter), expected.run.weight(parameter)),
                tolerance)
          << words_of(step) << ": " << parameter;
    }
  }
}

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

}  // namespace
}  // namespace fourfold::tests
