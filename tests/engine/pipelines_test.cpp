// Pipelines in lockstep: whatever the stages, the order and the other axes, a step trains what one
// device trains.
#include <gtest/gtest.h>

#include <random>

#include "tests/engine/tiny.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

struct Case {
  const char* grid;
  PipelineOrder order = PipelineOrder::one_f_one_b;
  std::int64_t chunks = 1;
  bool sequence_parallel = false;
  std::int64_t zero = 0;
  bool cut_messages = false;
};

std::string text(const Case& c) {
  return std::string(c.grid) + " " + name(c.order) + " " + std::to_string(c.chunks) +
         (c.sequence_parallel ? " by tokens" : "") +
         (c.zero > 0 ? " zero " + std::to_string(c.zero) : "") + (c.cut_messages ? " cut" : "");
}

class Pipelines : public testing::TestWithParam<Case> {};

TEST_P(Pipelines, TrainWhatOneDeviceTrains) {
  const Case& what = GetParam();
  const ProcessGrid grid = ProcessGrid::parse(what.grid);
  const Model model = tiny_model(5);
  std::mt19937 random(3);
  for (const bool messages : {true, false}) {
    StepOptions options = random_options(random, 4);
    options.order = what.order;
    options.chunks = what.chunks;
    options.overlap.messages = messages;
    options.sequence_parallel = what.sequence_parallel;
    options.zero = what.zero;
    options.cut_messages = what.cut_messages;
    StepOptions plain = options;
    plain.order = PipelineOrder::one_f_one_b;
    plain.chunks = 1;
    plain.sequence_parallel = false;
    plain.zero = 0;
    const AdamW optimizer;
    Lockstep<double> alone(model, plain, ProcessGrid(), tiny_seed);
    Lockstep<double> run(model, options, grid, tiny_seed);
    roughen(alone);
    roughen(run);

    for (int step = 0; step < 2; ++step) {
      const Batch batch = random_batch(model, 16, tiny_seed + static_cast<std::uint64_t>(step));
      const StepResult expected = alone.step(batch, optimizer);
      const StepResult result = run.step(batch, optimizer);

      EXPECT_NEAR(result.loss, expected.loss, 1e-12 * expected.loss);
      for (const StageResult& stage : result.stages) {
        EXPECT_NEAR(stage.gradient_norm, expected.gradient_norm, 1e-9 * expected.gradient_norm);
      }
    }
    const std::int64_t last = grid.extent(Axis::pipe) - 1;
    EXPECT_EQ(largest_difference(run.weight_on(0, "table"), run.weight_on(last, "table")), 0.0)
        << "the copies of the table go on alike";
    EXPECT_EQ(run.parameters().size(), alone.parameters().size());
    for (const std::string& parameter : alone.parameters()) {
      EXPECT_LT(largest_difference(run.weight(parameter), alone.weight(parameter)), 1e-9)
          << parameter << " " << described(options);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grids, Pipelines,
    testing::Values(
        Case{"pipe=2"}, Case{"pipe=2", PipelineOrder::gpipe},
        Case{"pipe=2", PipelineOrder::interleaved, 2}, Case{"pipe=3"}, Case{"pipe=5"},
        Case{"pipe=4", PipelineOrder::gpipe}, Case{"x=2,pipe=2", PipelineOrder::interleaved, 2},
        Case{"y=2,pipe=2"}, Case{"z=2,pipe=2"}, Case{"data=2,pipe=2", PipelineOrder::gpipe},
        // Of six chunks of five layers the first has none: the embedding stands alone.
        Case{"pipe=2", PipelineOrder::interleaved, 3},
        Case{"x=2,data=2,pipe=2", PipelineOrder::interleaved, 3, true, 2},
        Case{"x=2,z=2,data=2,pipe=4"}, Case{"2x1x1x1", PipelineOrder::one_f_one_b, 1, true},
        Case{"4x1x1x1", PipelineOrder::one_f_one_b, 1, true},
        Case{"2x2x2x1", PipelineOrder::one_f_one_b, 1, true},
        Case{"2x1x1x2", PipelineOrder::gpipe, 1, true},
        Case{"x=2,pipe=2", PipelineOrder::interleaved, 2, true},
        Case{"x=2,y=2,pipe=4", PipelineOrder::one_f_one_b, 1, true},
        Case{"1x1x1x1", PipelineOrder::one_f_one_b, 1, false, 1},
        Case{"1x1x1x2", PipelineOrder::one_f_one_b, 1, false, 1},
        Case{"1x1x1x4", PipelineOrder::one_f_one_b, 1, false, 2},
        Case{"1x1x1x4", PipelineOrder::one_f_one_b, 1, false, 3},
        Case{"1x1x2x2", PipelineOrder::one_f_one_b, 1, false, 1},
        Case{"2x1x1x2", PipelineOrder::one_f_one_b, 1, true, 2},
        Case{"1x2x2x2", PipelineOrder::gpipe, 1, false, 3},
        Case{"data=2,pipe=2", PipelineOrder::one_f_one_b, 1, false, 1},
        Case{"data=4,pipe=2", PipelineOrder::interleaved, 2, false, 2},
        Case{"x=2,data=2,pipe=2", PipelineOrder::gpipe, 1, true, 3},
        Case{"pipe=2", PipelineOrder::message_driven},
        Case{"pipe=4", PipelineOrder::message_driven},
        Case{"x=2,z=2,pipe=3", PipelineOrder::message_driven},
        Case{"x=2,y=2,pipe=2", PipelineOrder::message_driven, 1, true},
        Case{"data=2,pipe=2", PipelineOrder::message_driven, 1, false, 1},
        Case{"x=2,data=2,pipe=2", PipelineOrder::message_driven, 1, false, 2},
        Case{"data=2,pipe=3", PipelineOrder::message_driven, 1, false, 3},
        Case{"pipe=2", PipelineOrder::zero_bubble}, Case{"pipe=5", PipelineOrder::zero_bubble},
        Case{"x=2,z=2,data=2,pipe=4", PipelineOrder::zero_bubble},
        Case{"x=2,y=2,pipe=3", PipelineOrder::zero_bubble, 1, true},
        Case{"x=2,data=2,pipe=2", PipelineOrder::zero_bubble, 1, true, 1},
        Case{"data=4,pipe=2", PipelineOrder::zero_bubble, 1, false, 2},
        Case{"y=2,z=2,data=2,pipe=2", PipelineOrder::zero_bubble, 1, false, 3},
        Case{"pipe=2", PipelineOrder::one_f_one_b, 1, false, 0, true},
        Case{"x=2,pipe=2", PipelineOrder::gpipe, 1, false, 0, true},
        Case{"x=4,pipe=3", PipelineOrder::one_f_one_b, 1, false, 0, true},
        Case{"x=2,y=2,pipe=2", PipelineOrder::interleaved, 2, false, 0, true},
        Case{"x=2,z=2,pipe=2", PipelineOrder::zero_bubble, 1, false, 3, true},
        Case{"x=2,pipe=2", PipelineOrder::zero_bubble, 1, true, 0, true}),
    [](const auto& param) {
      std::string name = text(param.param);
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      return name;
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
