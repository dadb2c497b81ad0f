// Orders: what a stage does turn by turn, which orders are refused, and that the stretches that an
// order calls steady are some. It is long because the orders of all kinds stand side by side.
#include <gtest/gtest.h>

#include "schedule/order/stage_messages.hpp"
#include "schedule/order/step.hpp"
#include "tests/refusal.hpp"
#include "tests/schedule/orders.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

Order of(std::int64_t micro_batches) {
  StepOptions options;
  options.micro_batches = micro_batches;
  return order_of(options);
}

char letter(StepPart part) {
  if (part == StepPart::forward) return 'F';
  return part == StepPart::weight_gradient ? 'W' : 'B';
}

// "F0 F1 B0": forwards and backwards by micro-batch, input gradients as these, W for weight
// gradients; with several chunks "F0.1".
std::string passes(const StepOptions& options, const Stage& stage) {
  std::string text;
  for (const Turn& turn : order_of(options, stage).turns) {
    if (turn.micro_batch < 0) continue;
    text += text.empty() ? "" : " ";
    text += letter(turn.part) + std::to_string(turn.micro_batch);
    if (options.chunks > 1) text += "." + std::to_string(turn.chunk);
  }
  return text;
}

TEST(Order, OfGpipeIsAllForwardsThenAllBackwards) {
  EXPECT_EQ(passes(with(PipelineOrder::gpipe, 3), {1, 4}), "F0 F1 F2 B0 B1 B2");
}

TEST(Order, OfOneForwardOneBackwardStartsWithAsManyForwardsAsStagesFollow) {
  const StepOptions options = with(PipelineOrder::one_f_one_b, 4);

  EXPECT_EQ(passes(options, {0, 3}), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(passes(options, {1, 3}), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(passes(options, {2, 3}), "F0 B0 F1 B1 F2 B2 F3 B3");
  EXPECT_EQ(passes(with(PipelineOrder::one_f_one_b, 2), {0, 8}), "F0 F1 B0 B1");
}

// Megatron-LM's, for 2 stages of 2 chunks: written out from its rule by hand.
TEST(Order, OfInterleavedChunksGoesThroughThemInGroupsOfAsManyMicroBatchesAsStages) {
  const StepOptions options = with(PipelineOrder::interleaved, 4, 2);

  EXPECT_EQ(passes(options, {0, 2}),
            "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0");
  EXPECT_EQ(passes(options, {1, 2}),
            "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
}

// ZB-H1 for 4 stages (Qi et al., arXiv:2401.10241, figure 3): each stage starts its weight
// gradients one micro-batch later than the stage before it.
TEST(Order, OfZeroBubblePutsWeightGradientsOffByTheStagesBefore) {
  const StepOptions options = with(PipelineOrder::zero_bubble, 5);

  EXPECT_EQ(passes(options, {0, 4}), "F0 F1 F2 F3 B0 W0 F4 B1 W1 B2 W2 B3 W3 B4 W4");
  EXPECT_EQ(passes(options, {2, 4}), "F0 F1 B0 F2 B1 F3 B2 W0 F4 B3 W1 B4 W2 W3 W4");
  EXPECT_EQ(passes(options, {3, 4}), "F0 B0 F1 B1 F2 B2 F3 B3 W0 F4 B4 W1 W2 W3 W4");
  EXPECT_EQ(passes(with(PipelineOrder::zero_bubble, 1), {3, 4}), "F0 B0 W0");
}

TEST(Order, OfZeroBubbleOnOneStageIsOneForwardOneBackward) {
  EXPECT_EQ(order_of(with(PipelineOrder::zero_bubble, 5)).turns,
            order_of(with(PipelineOrder::one_f_one_b, 5)).turns);
}

// What parallelism.md's table says is in flight at a stage.
TEST(Order, HasAsManyPassesInFlightAsItsTableSays) {
  const auto most_until = [](StepPart last, const StepOptions& options, const Stage& stage) {
    std::int64_t now = 0;
    std::int64_t most = 0;
    for (const Turn& turn : order_of(options, stage).turns) {
      now += turn.part == StepPart::forward ? 1 : turn.part == last ? -1 : 0;
      most = std::max(most, now);
    }
    return most;
  };
  const auto most = [&](const StepOptions& options, const Stage& stage) {
    return most_until(StepPart::backward, options, stage);
  };
  for (std::int64_t p : {1, 2, 4, 8}) {
    for (std::int64_t i = 0; i < p; ++i) {
      for (std::int64_t m : {p, 2 * p, 5 * p}) {
        EXPECT_EQ(most(with(PipelineOrder::gpipe, m), {i, p}), m);
        EXPECT_EQ(most(with(PipelineOrder::one_f_one_b, m), {i, p}), std::min(p - i, m));
        for (std::int64_t v : {2, 3}) {
          if (p == 1) continue;
          const StepOptions zero_bubble = with(PipelineOrder::zero_bubble, m);
          EXPECT_EQ(most_until(StepPart::input_gradient, zero_bubble, {i, p}), std::min(p - i, m));
          EXPECT_EQ(most_until(StepPart::weight_gradient, zero_bubble, {i, p}), std::min(p, m))
              << "no more than the first stage has in flight with 1f1b";
          EXPECT_EQ(most(with(PipelineOrder::interleaved, m, v), {i, p}),
                    std::min(m * v, 2 * (p - i - 1) + (v - 1) * p + 1));
        }
      }
    }
  }
}

TEST(Order, OfEveryKindCanBeDoneAndDeclaresWhatIsSteady) {
  for (std::int64_t p : {1, 2, 3, 4}) {
    for (std::int64_t i = 0; i < p; ++i) {
      for (std::int64_t periods : {1, 3}) {
        for (const StepOptions& kind :
             {with(PipelineOrder::gpipe, 1), with(PipelineOrder::one_f_one_b, 1),
              with(PipelineOrder::interleaved, 1, 2), with(PipelineOrder::interleaved, 1, 3),
              with(PipelineOrder::zero_bubble, 1)}) {
          StepOptions options = kind;
          if (p == 1 && options.chunks > 1) continue;
          options.micro_batches = settling_micro_batches(options, {i, p}, periods);

          const Order order = order_of(options, {i, p});

          EXPECT_EQ(fault(order), "");
          for (const Steady& steady : order.steady) EXPECT_GE(steady.periods, periods);
        }
      }
    }
  }
}

TEST(Order, OfOneStageIsForwardAndBackwardInTurn) {
  const Order order = of(3);

  std::string text;
  for (const Turn& turn : order.turns) {
    constexpr const char* names[]{"start", "forward", "backward", "", "", "reduce", "finish"};
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

  EXPECT_EQ(order.steady.front().periods, 4);
  EXPECT_EQ(order.period_of(0).number, -1);
  EXPECT_EQ(order.period_of(1).number, -1) << "the first forward gathers what is kept";
  EXPECT_EQ(order.period_of(3).number, 0);
  EXPECT_EQ(order.period_of(10).number, 3);
  EXPECT_EQ(order.period_of(11).number, -1) << "reductions hang on the last backward";
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

TEST(Order, OfZeroBubbleIsRefusedInWordsWhereItCannotBeDone) {
  const Order sound = order_of(with(PipelineOrder::zero_bubble, 3), {0, 2});
  const auto changed = [&](const auto& change) {
    Order order = sound;
    order.steady = {};
    change(order.turns);
    return fault(order);
  };
  using Turns = std::vector<Turn>;

  ASSERT_EQ(passes(with(PipelineOrder::zero_bubble, 3), {0, 2}), "F0 F1 B0 W0 F2 B1 W1 B2 W2");
  EXPECT_EQ(changed([](Turns& turns) { std::swap(turns[3], turns[4]); }),
            "order: the weight gradient of micro-batch 0 comes before its input gradient");
  EXPECT_EQ(changed([](Turns& turns) { turns.erase(turns.begin() + 7); }),
            "order: the weight gradient of micro-batch 1 does not come");
  EXPECT_EQ(changed([](Turns& turns) { turns.insert(turns.begin() + 5, turns[4]); }),
            "order: the weight gradient of micro-batch 0 comes twice");
  EXPECT_EQ(changed([](Turns& turns) { turns.insert(turns.begin() + 5, turns[3]); }),
            "order: the backward of micro-batch 0 comes twice");
  EXPECT_EQ(changed([](Turns& turns) { turns[6].part = StepPart::backward; }),
            "order: the weight gradient of micro-batch 1 comes twice")
      << "a whole backward has given it";
}

// A whole model's backward has nothing to send and so nothing to hurry for.
TEST(Order, OfOneStageIsRefusedWhereItSplitsBackwards) {
  Order split = of(1);
  split.turns[2].part = StepPart::input_gradient;
  split.turns.insert(split.turns.begin() + 3, {StepPart::weight_gradient, 0, true, true});

  EXPECT_EQ(fault(split), "");
  EXPECT_EQ(refusal([&] { record_step(small_model(1), {}, split); }),
            "order: the backward of a whole model is not split");
}

std::vector<Order> of_all_stages(const StepOptions& options, std::int64_t stages) {
  std::vector<Order> orders;
  for (std::int64_t i = 0; i < stages; ++i) orders.push_back(order_of(options, {i, stages}));
  return orders;
}

TEST(Orders, OfEveryKindFitTogether) {
  for (std::int64_t p : {1, 2, 3, 4, 7}) {
    for (std::int64_t m : {p, 2 * p, 5 * p}) {
      EXPECT_EQ(fault(of_all_stages(with(PipelineOrder::gpipe, m), p)), "");
      EXPECT_EQ(fault(of_all_stages(with(PipelineOrder::one_f_one_b, m), p)), "");
      EXPECT_EQ(fault(of_all_stages(with(PipelineOrder::zero_bubble, m), p)), "");
      if (p == 1) continue;
      for (std::int64_t v : {2, 3}) {
        EXPECT_EQ(fault(of_all_stages(with(PipelineOrder::interleaved, m, v), p)), "");
      }
    }
  }
}

// Orders with their chunks, stages and micro-batches: whole groups of them, more, and one alone, as
// an evaluation and a sampler record it.
template <typename Check>
void each_order(const Check& check) {
  for (const PipelineOrderRow& row : pipeline_orders) {
    for (std::int64_t p : {1, 2, 3, 4, 7}) {
      for (std::int64_t chunks : {1, 2, 3, 5}) {
        if (row.chunks != (chunks > 1) || (p == 1 && needs_stages(row.order))) continue;
        for (std::int64_t m : {std::int64_t{1}, p, p + 1, 2 * p, 5 * p}) {
          check(with(row.order, m, chunks), p);
        }
      }
    }
  }
}

TEST(Orders, OfPhasesThatTrainNothingAreTheForwardsOfTraining) {
  each_order([](const StepOptions& training, std::int64_t p) {
    for (const PhaseRow& row : phases) {
      if (row.trains) continue;
      StepOptions options = training;
      options.phase = row.phase;
      for (std::int64_t i = 0; i < p; ++i) {
        std::vector<Turn> expected = order_of(training, {i, p}).turns;
        std::erase_if(expected, [](const Turn& turn) {
          return turn.micro_batch >= 0 && turn.part != StepPart::forward;
        });
        std::erase(expected, Turn{StepPart::reduce});
        EXPECT_EQ(order_of(options, {i, p}).turns, expected)
            << row.name << ", stage " << i << " of " << p << ": " << passes(training, {i, p});
      }
      EXPECT_EQ(fault(of_all_stages(options, p), false), "") << row.name << " " << p;
    }
  });
}

TEST(Orders, OfPhasesThatTrainNothingAreSteadyButForTheirEnds) {
  each_order([](StepOptions options, std::int64_t p) {
    options.phase = Phase::prefill;
    const std::int64_t group = options.chunks > 1 ? p : 1;
    for (std::int64_t periods : {1, 3}) {
      options.micro_batches = settling_micro_batches(options, {p - 1, p}, periods);
      const Order order = order_of(options, {p - 1, p});
      ASSERT_EQ(order.steady.size(), 1u);
      EXPECT_EQ(order.steady.front().periods, periods);
      EXPECT_EQ(order.steady.front().turns, group * options.chunks);
      EXPECT_EQ(options.micro_batches, (2 + periods) * group) << "no more are recorded";
    }
  });
}

TEST(Orders, AreRefusedWhereTheyWaitForEachOtherForEver) {
  for (PipelineOrder kind : {PipelineOrder::one_f_one_b, PipelineOrder::zero_bubble}) {
    std::vector<Order> orders = of_all_stages(with(kind, 3), 2);
    for (Order& order : orders) order.steady = {};
    // The first stage wants the first gradient before it has sent the second micro-batch, the last
    // stage has the second micro-batch first.
    std::vector<Turn>& first = orders[0].turns;
    std::vector<Turn>& last = orders[1].turns;
    ASSERT_EQ(first[3].micro_batch, 0);
    std::swap(first[2], first[3]);
    ASSERT_EQ(last[3].part, StepPart::forward);
    std::swap(last[2], last[3]);

    EXPECT_EQ(fault(orders),
              "order: the stages wait for each other for ever, one of them for the gradient of "
              "micro-batch 0 from stage 1 to stage 0");
  }
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

  const Folded one_ahead = fold_schedule(issue(record_step(model, options, ahead), options));

  const ProcessGrid grid(2, 2, 2, 1);
  const auto plain = counted(fold_schedule(issue(record_step(model, options), options)), grid, 24);
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

    const Folded folded = fold_schedule(issue(record_step(model, options), options));

    EXPECT_TRUE(folded.settled) << model.layers << " layers, " << described(options);
  }
}

TEST(Steady, IsNotSettledBeforeTheWindowHasFilled) {
  StepOptions options;
  options.in_flight_blocks = 9;
  options.micro_batches = 4;  // 3 layers and the embedding: the window spans three backward passes

  Folded folded = fold_schedule(issue(record_step(small_model(3), options), options));

  EXPECT_FALSE(folded.settled);
  EXPECT_THROW(stretch(folded, 20), std::logic_error);
}

TEST(Fold, OfAStageIsItsScheduleForEveryOrder) {
  const ProcessGrid grid(2, 2, 2, 1, 4);
  std::mt19937 random(5);
  for (PipelineOrder order : {PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
                              PipelineOrder::interleaved, PipelineOrder::zero_bubble}) {
    for (std::int64_t i = 0; i < 4; ++i) {
      StepOptions options = random_options(random, 24);
      options.order = order;
      options.chunks = order == PipelineOrder::interleaved ? 2 : 1;
      options.overlap.messages = random() % 2 == 0;
      options.sequence_parallel = random() % 2 == 0;
      options.cut_messages = random() % 2 == 0;
      const Model model = small_model(9);

      const auto folded = counted(folded_step(model, options, {i, 4}), grid, 48);
      const auto whole = counted(
          fold_schedule(issue(record_step(model, options, Stage{i, 4}), options)), grid, 48);

      EXPECT_EQ(folded.memory.peak.value, whole.memory.peak.value)
          << "stage " << i << " " << described(options);
      EXPECT_EQ(folded.counts.payload, whole.counts.payload) << described(options);
      EXPECT_EQ(folded.counts.executed().value, whole.counts.executed().value);
    }
  }
}

double activations(PipelineOrder order, Recompute recompute, const Stage& stage) {
  StepOptions options = with(order, 2 * stage.count);
  options.recompute = recompute;
  const Model model{"even", 2 * stage.count, 64, 4, 32, 50};
  const Counted all = counted(folded_step(model, options, stage), ProcessGrid(1, 1, 1, 1, 4), 128);
  return all.memory.by_role[static_cast<std::size_t>(Role::activation)].value;
}

// A weight gradient that is put off holds what it reads: its operands, recomputed ones, too.
TEST(Memory, OfZeroBubbleGrowsWithWhatIsPutOff) {
  constexpr PipelineOrder one_f_one_b = PipelineOrder::one_f_one_b;
  constexpr PipelineOrder zero_bubble = PipelineOrder::zero_bubble;

  const double first = activations(zero_bubble, Recompute::none, {0, 4});
  const double second = activations(zero_bubble, Recompute::none, {1, 4});
  const double third = activations(zero_bubble, Recompute::none, {2, 4});

  EXPECT_LT(first, 1.15 * activations(one_f_one_b, Recompute::none, {0, 4}))
      << "the first stage puts nothing off";
  EXPECT_GT(third, second) << "gradients are held beside activations";
  EXPECT_LT(third, 1.35 * first) << "but as many micro-batches' on every stage";
  EXPECT_GT(third, 1.5 * activations(one_f_one_b, Recompute::none, {2, 4}));
  EXPECT_GT(activations(zero_bubble, Recompute::full, {2, 4}),
            2.5 * activations(one_f_one_b, Recompute::full, {2, 4}))
      << "recomputed activations of three micro-batches instead of one's";
}

TEST(Fold, WrittenOutIsTheScheduleForWindowsOfAnySize) {
  const Model model = small_model(3);
  for (std::int64_t window : {1, 2, 3, 4, 5, 6, 8, 1000}) {
    StepOptions options;
    options.in_flight_blocks = window;
    options.micro_batches = 9;
    const ProcessGrid grid(1, 2, 2, 2);

    const auto folded = counted(folded_step(model, options), grid, 24);
    const auto whole =
        counted(fold_schedule(issue(record_step(model, options), options)), grid, 24);

    EXPECT_EQ(folded.memory.peak.value, whole.memory.peak.value) << window;
    EXPECT_EQ(folded.counts.payload, whole.counts.payload) << window;
  }
}

}  // namespace
}  // namespace fourfold::tests
