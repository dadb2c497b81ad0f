// Orders: what one stage does, which orders are refused, and that the stretch an order calls steady
// is one.
#include <gtest/gtest.h>

#include "schedule/order/step.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold {
namespace {

Order of(std::int64_t micro_batches) {
  StepOptions options;
  options.micro_batches = micro_batches;
  return one_by_one(options);
}

TEST(Order, OfOneStageIsForwardAndBackwardInTurn) {
  const Order order = of(3);

  std::string text;
  for (const Turn& turn : order.turns) {
    constexpr const char* names[]{"start", "forward", "backward", "reduce", "finish"};
    text += names[static_cast<int>(turn.part)];
    if (turn.micro_batch >= 0) text += std::to_string(turn.micro_batch);
    text += turn.first ? "(first) " : turn.last ? "(last) " : " ";
  }
  EXPECT_EQ(text,
            "start forward0(first) backward0(first) forward1 backward1 forward2(last) "
            "backward2(last) reduce finish ");
  EXPECT_EQ(fault(order), "");
}

TEST(Order, CallsAllButTheFirstAndTheLastMicroBatchSteady) {
  const Order order = of(6);

  EXPECT_EQ(order.steady.periods, 4);
  EXPECT_EQ(order.period_of(0), -1);
  EXPECT_EQ(order.period_of(1), -1) << "the first forward gathers what is kept";
  EXPECT_EQ(order.period_of(3), 0);
  EXPECT_EQ(order.period_of(10), 3);
  EXPECT_EQ(order.period_of(11), -1) << "reductions hang on the last backward";
}

// With kept weights the later micro-batches' embedding begins with a lookup of their own words.
TEST(Order, EveryOperationIsOfItsSectionsMicroBatch) {
  StepOptions options;
  options.micro_batches = 3;
  options.weight_gather = WeightGather::keep;

  const Program program = record_step(small_model(1), options);

  for (std::size_t s = 0; s + 1 < program.sections.size(); ++s) {
    const Section& section = program.sections[s];
    for (std::int32_t op = section.first_op; op < program.sections[s + 1].first_op; ++op) {
      EXPECT_EQ(program.micro_batch_of(op), section.micro_batch) << section.name << " " << op;
    }
  }
}

TEST(Order, IsRefusedInWordsWhereItCannotBeDone) {
  Order swapped = of(3);
  std::swap(swapped.turns[3], swapped.turns[4]);
  Order missing = of(3);
  missing.turns.erase(missing.turns.begin() + 4);
  Order twice = of(2);
  twice.turns.insert(twice.turns.begin() + 2, twice.turns[1]);
  Order endless = of(2);
  endless.turns.pop_back();

  swapped.steady = missing.steady = {};
  EXPECT_EQ(fault(swapped), "order: the backward of micro-batch 1 comes before its forward");
  EXPECT_EQ(fault(missing), "order: the backward of micro-batch 1 does not come");
  EXPECT_EQ(fault(twice), "order: the forward of micro-batch 0 comes twice");
  EXPECT_EQ(fault(endless), "order: it must end with the one finish");
  EXPECT_THROW(record_step(small_model(1), {}, swapped), std::invalid_argument);
}

TEST(Order, IsRefusedWhereItsSteadyStretchIsNone) {
  Order early = of(5);
  early.steady.first = 1;
  early.steady.periods = 4;
  Order beyond = of(5);
  beyond.steady.periods = 9;

  EXPECT_EQ(fault(early),
            "order: turn 3 is in the steady stretch, but not as turn 1, a period "
            "before it")
      << "the first micro-batch is not like the others";
  EXPECT_EQ(fault(beyond), "order: the steady stretch lies outside the order");
}

// Two micro-batches ahead, as a pipeline's first stage would run them: another order, the same
// parts.
TEST(Order, OfAnotherSequenceRecordsTheSameWork) {
  StepOptions options;
  options.micro_batches = 4;
  options.recompute = Recompute::none;
  const Model model = small_model(2);
  Order ahead;
  ahead.turns = {{StepPart::start}};
  for (std::int64_t i : {0, 1}) ahead.turns.push_back({StepPart::forward, i, i == 0});
  for (std::int64_t i : {0, 1, 2, 3}) {
    ahead.turns.push_back({StepPart::backward, i, i == 0, i == 3});
    if (i < 2) ahead.turns.push_back({StepPart::forward, i + 2, false, i == 1});
  }
  ahead.turns.insert(ahead.turns.end(), {{StepPart::reduce}, {StepPart::finish}});

  const Folded one_ahead = fold(issue(record_step(model, options, ahead), options));

  const ProcessGrid grid(2, 2, 2, 1);
  const auto plain = counted(fold(issue(record_step(model, options), options)), grid, 24);
  const auto other = counted(one_ahead, grid, 24);
  EXPECT_EQ(other.counts.executed().value, plain.counts.executed().value);
  EXPECT_EQ(other.counts.payload, plain.counts.payload);
  EXPECT_GT(other.memory.peak.value, plain.memory.peak.value)
      << "activations of two micro-batches are in flight";
}

TEST(Steady, IsSettledWhereverAFewMicroBatchesStandForMany) {
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    const Model model = small_model(1 + static_cast<std::int64_t>(random() % 4));
    StepOptions options = random_options(random, 9);
    options.in_flight_blocks = 1 + static_cast<std::int64_t>(random() % 12);
    options.micro_batches = recorded_micro_batches(model, options);

    const Folded folded = fold(issue(record_step(model, options), options));

    EXPECT_TRUE(folded.settled) << model.layers << " layers, " << described(options);
  }
}

TEST(Steady, IsNotSettledBeforeTheWindowHasFilled) {
  StepOptions options;
  options.in_flight_blocks = 9;
  options.micro_batches = 4;  // 3 layers and the embedding: the window spans three backward passes

  Folded folded = fold(issue(record_step(small_model(3), options), options));

  EXPECT_FALSE(folded.settled);
  EXPECT_THROW(stretch(folded, 20), std::logic_error);
}

TEST(Fold, WrittenOutIsTheScheduleForWindowsOfAnySize) {
  const Model model = small_model(3);
  for (std::int64_t window : {1, 2, 3, 4, 5, 6, 8, 1000}) {
    StepOptions options;
    options.in_flight_blocks = window;
    options.micro_batches = 9;
    const ProcessGrid grid(1, 2, 2, 2);

    const auto folded = counted(folded_step(model, options), grid, 24);
    const auto whole = counted(fold(issue(record_step(model, options), options)), grid, 24);

    EXPECT_EQ(folded.memory.peak.value, whole.memory.peak.value) << window;
    EXPECT_EQ(folded.counts.payload, whole.counts.payload) << window;
  }
}

}  // namespace
}  // namespace fourfold
