// Orders with each turn left out or twice are refused where that matters, by the micro-batch that
// it is of; and the options that mean the same as plainer ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "schedule/order/side_by_side.hpp"
#include "schedule/order/stage_messages.hpp"
#include "schedule/order/step.hpp"
#include "tests/schedule/orders.hpp"

namespace fourfold::tests {
namespace {

std::vector<Order> of_stages(const StepOptions& options, std::int64_t stages) {
  std::vector<Order> orders;
  for (std::int64_t i = 0; i < stages; ++i) {
    orders.push_back(order_of(options, {i, stages}));
    orders.back().steady = {};
  }
  return orders;
}

// A forward or a backward is done once, after what it needs, and as its neighbours do it; start and
// finish are the ends. A second start, and as many reductions as one likes, do no harm.
TEST(EditedOrders, AreRefusedWhereATurnIsMissingOrDoneTwice) {
  for (const auto& [options, stages] : {std::pair{with(PipelineOrder::one_f_one_b, 2), 2},
                                        {with(PipelineOrder::gpipe, 2), 2},
                                        {with(PipelineOrder::interleaved, 2, 2), 2},
                                        {with(PipelineOrder::zero_bubble, 3), 2},
                                        {with(PipelineOrder::one_f_one_b, 3), 3}}) {
    const std::vector<Order> sound = of_stages(options, stages);
    EXPECT_EQ(fault(sound), "");
    for (std::size_t i = 0; i < sound.size(); ++i) {
      for (std::size_t t = 0; t < sound[i].turns.size(); ++t) {
        const Turn& turn = sound[i].turns[t];
        const auto at = static_cast<std::ptrdiff_t>(t);
        std::vector<Order> without = sound, twice = sound;
        without[i].turns.erase(without[i].turns.begin() + at);
        twice[i].turns.insert(twice[i].turns.begin() + at, turn);
        const bool once = turn.part != StepPart::start && turn.part != StepPart::reduce;
        const std::string micro_batch = "micro-batch " + std::to_string(turn.micro_batch);
        SCOPED_TRACE(std::string(name(options.order)) + ", stage " + std::to_string(i) + ", turn " +
                     std::to_string(t));

        EXPECT_EQ(fault(without) == "", turn.part == StepPart::reduce);
        EXPECT_EQ(fault(twice) == "", !once);
        if (turn.micro_batch < 0 || fault(twice) == "") continue;
        EXPECT_NE(fault(twice).find(micro_batch), std::string::npos) << fault(twice);
      }
    }
  }
}

using Turns = std::vector<Turn>;

std::string fault_of(const StepOptions& options,
                     const std::function<void(Turns& first, Turns& last)>& edit) {
  std::vector<Order> orders = of_stages(options, 2);
  edit(orders[0].turns, orders[1].turns);
  return fault(orders);
}

// Whether all turns come to be done, each when the pass before it, of its micro-batch, is.
bool comes_to_an_end(const std::vector<Order>& stages, std::int64_t chunks) {
  std::set<std::tuple<bool, std::int64_t, std::int64_t>> done;  // forward, micro-batch, chunk
  std::vector<std::size_t> next(stages.size(), 0);
  const auto walk = [&](std::size_t i) {
    for (; next[i] < stages[i].turns.size(); ++next[i]) {
      const Turn& turn = stages[i].turns[next[i]];
      if (turn.micro_batch < 0) continue;
      const bool forward = turn.part == StepPart::forward;
      const std::int64_t chunk = turn.chunk * std::ssize(stages) + static_cast<std::int64_t>(i);
      const std::int64_t before = chunk + (forward ? -1 : 1);
      const bool needs = before >= 0 && before < chunks;
      if (needs && !done.contains({forward, turn.micro_batch, before})) return false;
      done.insert({forward, turn.micro_batch, chunk});
    }
    return true;
  };
  return side_by_side(stages.size(), walk, [&](std::size_t i) { return next[i]; });
}

// Two turns change places on each of two stages of two chunks.
TEST(EditedOrders, ThatWaitForEachOtherAreRefused) {
  const std::vector<Order> sound = of_stages(with(PipelineOrder::interleaved, 2, 2), 2);
  const auto swaps = [&](std::size_t stage) {
    std::vector<Order> all;
    for (std::size_t i = 1; i + 2 < sound[stage].turns.size(); ++i) {
      for (std::size_t k = i; k + 2 < sound[stage].turns.size(); ++k) {
        all.push_back(sound[stage]);
        std::swap(all.back().turns[i], all.back().turns[k]);
      }
    }
    return all;
  };
  int waiting = 0;
  for (const Order& first : swaps(0)) {
    for (const Order& last : swaps(1)) {
      const std::string why = fault({first, last});
      EXPECT_TRUE(why != "" || comes_to_an_end({first, last}, 4));
      waiting += why.starts_with("order: the stages wait for each other for ever") ? 1 : 0;
    }
  }
  EXPECT_GT(waiting, 0);
}

// Of two stages and two micro-batches: start F0 F1 B0 B1 reduce finish on the first, and
// start F0 B0 F1 B1 reduce finish on the last.
TEST(EditedOrders, HearWhatIsWrong) {
  const auto fault_with = [](const auto& edit) {
    return fault_of(with(PipelineOrder::one_f_one_b, 2), edit);
  };
  EXPECT_EQ(fault_with([](Turns& first, Turns&) { std::swap(first[0], first[1]); }),
            "order: it must begin with the start");
  EXPECT_EQ(fault_with([](Turns&, Turns& last) { last.pop_back(); }),
            "order: it must end with the one finish");
  EXPECT_EQ(fault_with([](Turns& first, Turns&) { std::swap(first[1], first[2]); }),
            "order: message 0 of a channel is sent as micro-batch 1 from stage 0 to stage 1, and "
            "received as micro-batch 0 from stage 0 to stage 1");
  EXPECT_EQ(
      fault_with([](Turns& first, Turns&) { std::swap(first[3], first[4]); }),
      "order: message 0 of a channel is sent as the gradient of micro-batch 0 from stage 1 to "
      "stage 0, and received as the gradient of micro-batch 1 from stage 1 to stage 0");
  EXPECT_EQ(fault_with([](Turns&, Turns& last) { std::swap(last[1], last[2]); }),
            "order: the backward of micro-batch 0 comes before its forward");
  EXPECT_EQ(fault_with([](Turns& first, Turns&) { first.insert(first.begin() + 3, first[3]); }),
            "order: the backward of micro-batch 0 comes twice");
  EXPECT_EQ(fault_with([](Turns& first, Turns&) { first.erase(first.begin() + 3); }),
            "order: the backward of micro-batch 0 does not come");
  EXPECT_EQ(fault_with([](Turns&, Turns& last) { std::swap(last[2], last[3]); }), "");
}

// The first stage does start F0 F1 B0 W0 F2 B1 W1 B2 W2 reduce finish.
TEST(EditedOrders, HearWhatIsWrongWithAWeightGradient) {
  const auto first_with = [](const std::function<void(Turns&)>& edit) {
    return fault_of(with(PipelineOrder::zero_bubble, 3),
                    [&](Turns& first, Turns&) { edit(first); });
  };
  EXPECT_EQ(first_with([](Turns& turns) { std::swap(turns[3], turns[4]); }),
            "order: the weight gradient of micro-batch 0 comes before its input gradient");
  EXPECT_EQ(first_with([](Turns& turns) { turns.erase(turns.begin() + 7); }),
            "order: the weight gradient of micro-batch 1 does not come");
  EXPECT_EQ(first_with([](Turns& turns) { turns.insert(turns.begin() + 5, turns[4]); }),
            "order: the weight gradient of micro-batch 0 comes twice");
  EXPECT_EQ(first_with([](Turns& turns) { turns[6].part = StepPart::backward; }),
            "order: the weight gradient of micro-batch 1 comes twice")
      << "a whole backward has given it";
}

// A stretch may begin at the first turn, end at the last, and be empty anywhere.
TEST(SteadyStretches, LieInTheirOrder) {
  const Order sound = order_of(with(PipelineOrder::gpipe, 5));
  const auto why = [&](std::int64_t first, std::int64_t turns, std::int64_t periods,
                       std::int64_t micro_batches = 1) {
    Order order = sound;
    order.steady = {{first, turns, periods, micro_batches}};
    return fault(order);
  };
  const auto unlike = [](int turn, int other) {
    return "order: turn " + std::to_string(turn) + " is in the steady stretch, but not as turn " +
           std::to_string(other) + ", a period before it";
  };

  ASSERT_EQ(sound.turns.size(), 13U);
  for (const auto& [first, turns, periods] :
       {std::array{2, 1, 3}, {0, 13, 1}, {12, 1, 1}, {99, 1, 0}}) {
    EXPECT_EQ(why(first, turns, periods), "") << first;
  }
  for (const auto& [first, turns, periods] :
       {std::array{13, 1, 1}, {1, 13, 1}, {-1, 1, 1}, {1, 0, 1}, {12, 1, 2}}) {
    EXPECT_EQ(why(first, turns, periods), "order: the steady stretch lies outside the order");
  }
  EXPECT_EQ(why(2, 1, 3, 2), unlike(3, 2));
  EXPECT_EQ(why(2, 1, 4), unlike(5, 4));
  EXPECT_EQ(why(2, 5, 2), unlike(7, 2));
}

// Every option that decides nothing on so many stages, or beside another, is its usual one.
TEST(PlainOptions, AreThoseThatDecideSomething) {
  for (std::int64_t stages : {1, 3}) {
    for (PipelineOrder order : {PipelineOrder::one_f_one_b, PipelineOrder::gpipe,
                                PipelineOrder::zero_bubble, PipelineOrder::message_driven}) {
      for (int bits = 0; bits < 16; ++bits) {
        for (Recompute recompute : {Recompute::none, Recompute::full, Recompute::selective}) {
          StepOptions options = with(order, 6);
          options.recompute = recompute;
          if ((bits & 1) != 0) options.attention = AttentionKernel::unfused;
          options.cut_messages = (bits & 2) != 0;
          options.sequence_parallel = (bits & 4) != 0;
          options.overlap.messages = (bits & 8) != 0;
          options.zero = 2;
          StepOptions expected = options;
          if ((bits & 1) == 0 && recompute == Recompute::selective) {
            expected.recompute = Recompute::none;
          }
          if (stages == 1 || (bits & 4) != 0) expected.cut_messages = false;
          if (stages == 1) expected.overlap.messages = true;
          if (stages == 1 && order == PipelineOrder::zero_bubble) {
            expected.order = PipelineOrder::one_f_one_b;
          }

          EXPECT_EQ(plain(options, stages), expected) << stages << ' ' << name(order) << bits;
        }
      }
    }
  }
}

// And for at most one more.
TEST(SettlingMicroBatches, AreEnoughForSoManyPeriods) {
  const auto periods_of = [](StepOptions options, std::int64_t micro_batches, const Stage& stage) {
    options.micro_batches = micro_batches;
    std::int64_t fewest = 1'000'000;
    for (const Steady& steady : order_of(options, stage).steady) {
      fewest = std::min(fewest, steady.periods);
    }
    return fewest;
  };
  for (std::int64_t stages : {2, 3, 4, 7}) {
    for (std::int64_t i = 0; i < stages; ++i) {
      for (std::int64_t periods : {1, 2, 5}) {
        for (const StepOptions& options :
             {with(PipelineOrder::one_f_one_b, 1), with(PipelineOrder::gpipe, 1),
              with(PipelineOrder::zero_bubble, 1), with(PipelineOrder::interleaved, 1, 2),
              with(PipelineOrder::interleaved, 1, 3), with(PipelineOrder::message_driven, 1)}) {
          const Stage stage{i, stages};
          const std::int64_t enough = settling_micro_batches(options, stage, periods);
          const std::int64_t group = options.chunks > 1 ? stages : 1;

          EXPECT_EQ(enough % group, 0);
          EXPECT_GE(periods_of(options, enough, stage), periods)
              << name(options.order) << ", " << i << " of " << stages;
          EXPECT_LE(periods_of(options, enough, stage), periods + 1)
              << name(options.order) << ", " << i << " of " << stages;
        }
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
