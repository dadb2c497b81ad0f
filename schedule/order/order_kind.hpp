// What an order of a pipeline says of itself, so that it is one file (schedule/order/kinds/) and a
// row: its turns, the same with fewer of them in a row, and when they repeat.
#pragma once

#include <algorithm>
#include <cstdint>

#include "schedule/program/step_options.hpp"
#include "schedule/program/turn.hpp"

namespace fourfold::inline schedule::inline order {

// The k-th pass of all chunks of a stage, forward or backward: micro-batches go through the chunks
// in groups of as many as there are stages, as in Megatron-LM, the last of those that are left.
struct Passes {
  std::int64_t group = 1;
  std::int64_t chunks = 1;
  std::int64_t micro_batches = 1;

  std::int64_t count() const { return micro_batches * chunks; }
  std::int64_t groups() const { return (micro_batches + group - 1) / group; }
  Turn at(StepPart part, std::int64_t k) const {
    const std::int64_t before = k / (group * chunks) * group;
    const std::int64_t own = std::min(group, micro_batches - before);
    const std::int64_t in_turn = (k - before * chunks) / own;
    const std::int64_t micro_batch = before + (k - before * chunks) % own;
    return {part, micro_batch, micro_batch == 0, micro_batch + 1 == micro_batches,
            part == StepPart::forward ? in_turn : chunks - 1 - in_turn};
  }
};

// What the turns of a stage are made of.
struct TurnPlan {
  Passes passes;
  std::int64_t warm_up = 0;  // forwards before the first backward
  std::int64_t put_off = 0;  // micro-batches that weight gradients are put off by
};

struct OrderKind {
  PipelineOrder order;
  TurnPlan (*plan)(const StepOptions& options, const Stage& stage);
  // `most` forwards, pairs or backwards in a row, where there are more.
  TurnPlan (*shortened)(TurnPlan plan, std::int64_t most);
  // Adds the turns between the start and the reduction, with their steady stretches.
  void (*add_turns)(const TurnPlan& plan, const StepOptions& options, const Stage& stage,
                    Order& order);
  // Micro-batches until each steady stretch has so many periods.
  std::int64_t (*settling)(const StepOptions& options, const Stage& stage, std::int64_t periods);
};

// The kind of the options' order on that stage, or of a phase that trains nothing.
const OrderKind& kind_of(const StepOptions& options, const Stage& stage);
// Where it trains.
const OrderKind& training_kind_of(const StepOptions& options, const Stage& stage);

// Forwards that it takes to the last stage.
inline std::int64_t stages_behind(const Stage& stage) {
  return stage.count - stage.index - 1;
}

// Of one chunk: so many forwards before the first backward, if there are so many.
inline TurnPlan warmed_up(const StepOptions& options, std::int64_t forwards) {
  const Passes passes{1, options.chunks, options.micro_batches};
  return {passes, std::min(forwards, passes.count())};
}

// `warm_up` forwards, then one forward and one backward in turn, then the backwards that are left.
// The last `ending` backwards at least are no part of the steady stretch.
void alternate(const TurnPlan& plan, std::int64_t ending, Order& order);

// With at most so many of its forwards before the first backward, and so many pairs behind them.
inline TurnPlan with_few_pairs(TurnPlan plan, std::int64_t most) {
  const std::int64_t pairs = plan.passes.micro_batches - plan.warm_up;
  plan.warm_up = std::min(plan.warm_up, most);
  plan.passes.micro_batches = plan.warm_up + std::min(pairs, most);
  return plan;
}

}  // namespace fourfold::inline schedule::inline order
