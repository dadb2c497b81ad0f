// Pipelines in lockstep: whatever the stages, the order, the other axes and the options, a step
// trains what one device trains with the usual ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/drawn_steps.hpp"
#include "tests/engine/drawn_training.hpp"
#include "tests/engine/tiny.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

// By the place of a pipeline order among those that are drawn in turn.
class Orders : public testing::TestWithParam<std::int64_t> {};

TEST_P(Orders, TrainWhatOneDeviceTrainsUnderDrawnOptions) {
  int tried = 0, pipelines = 0;
  for (std::int64_t number = GetParam(); tried < 12; number += 5) {
    const DrawnStep step = drawn_step(number, most_trained_devices, trained_model);
    if (step.batch > most_trained_sequences) continue;
    ++tried;
    SCOPED_TRACE(words_of(step));
    Lockstep<double> alone(trained_model, StepOptions{}, ProcessGrid(), tiny_seed);
    Lockstep<double> run(step.model, step.options, step.grid, tiny_seed);
    const std::vector<StepResult> expected = train(alone, step.batch, 2);

    const std::vector<StepResult> results = train(run, step.batch, 2);

    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_NEAR(results[i].loss, expected[i].loss, 1e-9);
      for (const StageResult& stage : results[i].stages) {
        EXPECT_NEAR(stage.gradient_norm, expected[i].gradient_norm, 1e-9);
      }
    }
    const std::int64_t last = step.grid.extent(Axis::pipe) - 1;
    pipelines += last > 0 ? 1 : 0;
    EXPECT_EQ(largest_difference(run.weight_on(0, "table"), run.weight_on(last, "table")), 0.0)
        << "the copies of the table go on alike";
    EXPECT_EQ(run.parameters().size(), alone.parameters().size());
    for (const std::string& parameter : alone.parameters()) {
      EXPECT_LT(largest_difference(run.weight(parameter), alone.weight(parameter)), 1e-9)
          << parameter;
    }
  }
  EXPECT_GE(pipelines, 4);
}

INSTANTIATE_TEST_SUITE_P(All, Orders, testing::Range<std::int64_t>(0, 5), [](const auto& info) {
  std::string order =
      name(drawn_step(info.param, most_trained_devices, trained_model).options.order);
  std::ranges::replace(order, '-', '_');
  return order;
});

// Micro-batches of a phase go through chunks in groups, as in training.
TEST(PipelinePhases, EvaluateAsOneDeviceDoes) {
  const Model model = tiny_model(7);
  std::mt19937 random(6);
  const Batch batch = random_batch(model, 24, tiny_seed);
  for (const char* grid : {"pipe=2", "pipe=3", "x=2,y=2,pipe=2", "z=2,data=2,pipe=3"}) {
    for (const std::int64_t chunks : {1, 2, 3}) {
      StepOptions options = random_options(random, 6);
      options.phase = Phase::evaluation;
      options.chunks = chunks;
      if (chunks > 1) options.order = PipelineOrder::interleaved;
      StepOptions plain;
      plain.phase = Phase::evaluation;
      Lockstep<double> alone(model, plain, ProcessGrid(), tiny_seed);
      Lockstep<double> run(model, options, ProcessGrid::parse(grid), tiny_seed);
      roughen(alone);
      roughen(run);

      const double expected = alone.step(batch, {}).loss;
      EXPECT_NEAR(run.step(batch, {}).loss, expected, 1e-12 * expected)
          << grid << " " << described(options);
    }
  }
}

// Gradients are summed in the order of micro-batches: bit by bit, whatever has arrived first.
TEST(MessageDriven, TrainsTheBitsOfOneForwardOneBackward) {
  const Model model = tiny_model(7);
  std::mt19937 random(12);
  for (const char* grid : {"pipe=2", "pipe=4", "x=2,pipe=3", "y=2,z=2,pipe=2", "data=2,pipe=3"}) {
    for (const std::int64_t limit : {0, 1, 2, 6}) {
      StepOptions fixed = random_options(random, 6);
      fixed.overlap.messages = true;
      StepOptions queued = fixed;
      queued.order = PipelineOrder::message_driven;
      queued.pipeline_limit = limit;
      Lockstep<float> expected(model, fixed, ProcessGrid::parse(grid), tiny_seed);
      Lockstep<float> run(model, queued, ProcessGrid::parse(grid), tiny_seed);
      roughen(expected);
      roughen(run);

      for (int step = 0; step < 2; ++step) {
        const Batch batch = random_batch(model, 24, tiny_seed + static_cast<std::uint64_t>(step));
        EXPECT_EQ(run.step(batch, {}).loss, expected.step(batch, {}).loss);
      }
      for (const std::string& parameter : expected.parameters()) {
        EXPECT_EQ(run.weight(parameter).values, expected.weight(parameter).values)
            << parameter << " " << grid << " limit " << limit << " " << described(queued);
      }
    }
  }
}

// A stage's stream is what it waits for; what all stages wait for never comes.
TEST(PipelineOrders, ThatLockUpAreRefused) {
  const Model model = tiny_model(2);
  StepOptions options;
  options.micro_batches = 2;
  std::vector<Schedule> stages;
  for (std::int64_t i : {0, 1}) {
    Order order = order_of(options, {i, 2});
    // The first stage wants its first gradient before the last stage has its first micro-batch.
    stages.push_back(issue(record_step(model, options, order, Stage{i, 2}), options));
  }
  std::vector<Issue>& stream = stages[1].stream;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (stream[i].kind != IssueKind::start) continue;
    if (stages[1].program.ops[static_cast<std::size_t>(stream[i].id)].kind != OpKind::send)
      continue;
    stream.erase(stream.begin() + static_cast<std::ptrdiff_t>(i));  // its gradient never sets out
    break;
  }
  Lockstep<double> run(model, std::move(stages), ProcessGrid(1, 1, 1, 1, 2), tiny_seed);

  EXPECT_THROW(run.step(random_batch(model, 2, tiny_seed), {}), std::logic_error);
}

}  // namespace
}  // namespace fourfold::tests
