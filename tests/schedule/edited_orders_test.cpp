// Orders with each turn left out, twice, or before the one in front of it: what is heard of each.
// And the options that mean the same as plainer ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "schedule/order/exchange.hpp"
#include "schedule/order/step.hpp"
#include "tests/golden.hpp"
#include "tests/schedule/orders.hpp"

namespace fourfold {
namespace {

std::string words(const Turn& turn) {
  constexpr const char* parts[]{"start",           "forward", "backward", "input gradient",
                                "weight gradient", "reduce",  "finish"};
  std::string text = parts[static_cast<int>(turn.part)];
  if (turn.micro_batch >= 0) text += " " + std::to_string(turn.micro_batch);
  if (turn.chunk > 0) text += " of chunk " + std::to_string(turn.chunk);
  return text;
}

std::vector<Order> of_stages(const StepOptions& options, std::int64_t stages) {
  std::vector<Order> orders;
  for (std::int64_t i = 0; i < stages; ++i) {
    orders.push_back(order_of(options, {i, stages}));
    orders.back().steady = {};
  }
  return orders;
}

// Edits that are heard of in the same words are said once.
std::string heard(const StepOptions& options, std::int64_t stages) {
  std::map<std::string, std::string> by_sentence;
  const std::vector<Order> sound = of_stages(options, stages);
  EXPECT_EQ(fault(sound), "");
  for (std::size_t i = 0; i < sound.size(); ++i) {
    for (std::size_t t = 0; t < sound[i].turns.size(); ++t) {
      const auto edited = [&](const std::string& what, const auto& edit) {
        std::vector<Order> orders = sound;
        edit(orders[i].turns);
        const std::string why = fault(orders);
        by_sentence[why.empty() ? "nothing" : why] +=
            "\n    " + what + " " + words(sound[i].turns[t]) + " of stage " + std::to_string(i);
      };
      const auto at = static_cast<std::ptrdiff_t>(t);
      edited("no", [&](std::vector<Turn>& turns) { turns.erase(turns.begin() + at); });
      edited("twice",
             [&](std::vector<Turn>& turns) { turns.insert(turns.begin() + at, turns[t]); });
      if (t == 0) continue;
      edited("early", [&](std::vector<Turn>& turns) { std::swap(turns[t - 1], turns[t]); });
    }
  }
  std::string text;
  for (const auto& [sentence, edits] : by_sentence) text += "  " + sentence + edits + '\n';
  return text;
}

TEST(EditedOrders, HearTheGoldenWords) {
  std::string text;
  for (const StepOptions& options :
       {with(PipelineOrder::one_f_one_b, 2), with(PipelineOrder::gpipe, 2),
        with(PipelineOrder::interleaved, 2, 2), with(PipelineOrder::zero_bubble, 3)}) {
    text += std::string(name(options.order)) + '\n' + heard(options, 2);
  }
  text += "three stages\n" + heard(with(PipelineOrder::one_f_one_b, 3), 3);

  expect_golden("edited_orders.txt", text);
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
  const std::string outside = "order: the steady stretch lies outside the order";

  ASSERT_EQ(sound.turns.size(), 13U);
  EXPECT_EQ(why(2, 1, 3), "");
  EXPECT_EQ(why(0, 13, 1), "");
  EXPECT_EQ(why(12, 1, 1), "");
  EXPECT_EQ(why(99, 1, 0), "");
  EXPECT_EQ(why(13, 1, 1), outside);
  EXPECT_EQ(why(1, 13, 1), outside);
  EXPECT_EQ(why(-1, 1, 1), outside);
  EXPECT_EQ(why(1, 0, 1), outside);
  EXPECT_EQ(why(12, 1, 2), outside);
  EXPECT_EQ(why(2, 1, 3, 2),
            "order: turn 3 is in the steady stretch, but not as turn 2, a period before it");
  EXPECT_EQ(why(2, 1, 4),
            "order: turn 5 is in the steady stretch, but not as turn 4, a period before it");
  EXPECT_EQ(why(2, 5, 2),
            "order: turn 7 is in the steady stretch, but not as turn 2, a period before it");
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
}  // namespace fourfold
