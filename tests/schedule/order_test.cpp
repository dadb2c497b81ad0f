// Orders: what a stage does turn by turn, how the stages fit together, and that the stretches that
// an order calls steady are some. Which orders are refused is in edited_orders_test.cpp.
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

// Interleaved is Megatron-LM's, for 2 stages of 2 chunks: written out from its rule by hand. Zero
// bubble is ZB-H1 for 4 stages (Qi et al., arXiv:2401.10241, figure 3): each stage starts its
// weight gradients one micro-batch later than the stage before it.
TEST(Order, IsThePublishedOneTurnByTurn) {
  using enum PipelineOrder;
  struct Case {
    StepOptions options;
    Stage stage;
    const char* turns;
  };
  for (const auto& [options, stage, turns] : std::vector<Case>{
           {with(gpipe, 3), {1, 4}, "F0 F1 F2 B0 B1 B2"},
           {with(one_f_one_b, 4), {0, 3}, "F0 F1 F2 B0 F3 B1 B2 B3"},
           {with(one_f_one_b, 4), {1, 3}, "F0 F1 B0 F2 B1 F3 B2 B3"},
           {with(one_f_one_b, 4), {2, 3}, "F0 B0 F1 B1 F2 B2 F3 B3"},
           {with(one_f_one_b, 2), {0, 8}, "F0 F1 B0 B1"},
           {with(interleaved, 4, 2),
            {0, 2},
            "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0"},
           {with(interleaved, 4, 2),
            {1, 2},
            "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0"},
           {with(zero_bubble, 5), {0, 4}, "F0 F1 F2 F3 B0 W0 F4 B1 W1 B2 W2 B3 W3 B4 W4"},
           {with(zero_bubble, 5), {2, 4}, "F0 F1 B0 F2 B1 F3 B2 W0 F4 B3 W1 B4 W2 W3 W4"},
           {with(zero_bubble, 5), {3, 4}, "F0 B0 F1 B1 F2 B2 F3 B3 W0 F4 B4 W1 W2 W3 W4"},
           {with(zero_bubble, 1), {3, 4}, "F0 B0 W0"},
           {with(zero_bubble, 3), {0, 1}, "F0 B0 F1 B1 F2 B2"}}) {
    EXPECT_EQ(passes(options, stage), turns) << name(options.order);
  }
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

// A whole model's backward has nothing to send and so nothing to hurry for.
TEST(Order, OfOneStageIsRefusedWhereItSplitsBackwards) {
  Order split = of(1);
  split.turns[2].part = StepPart::input_gradient;
  split.turns.insert(split.turns.begin() + 3, {StepPart::weight_gradient, 0, true, true});

  EXPECT_EQ(fault(split), "");
  EXPECT_EQ(refusal([&] { record_step(small_model(1), {}, split); }),
            "order: the backward of a whole model is not split");
  EXPECT_EQ(fault(of(1), false),
            "order: the backward of micro-batch 0 trains, and this phase does not");
}

std::vector<Order> of_all_stages(const StepOptions& options, std::int64_t stages) {
  std::vector<Order> orders;
  for (std::int64_t i = 0; i < stages; ++i) orders.push_back(order_of(options, {i, stages}));
  return orders;
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

TEST(Orders, OfEveryKindFitTogether) {
  each_order([](const StepOptions& options, std::int64_t p) {
    if (options.chunks > 1 && options.micro_batches % p != 0) return;
    EXPECT_EQ(fault(of_all_stages(options, p)), "") << name(options.order) << " " << p;
  });
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

}  // namespace
}  // namespace fourfold::tests
