// Whichever message has arrived is run (AxoNN): the turns are those of the sequence in which most
// is in flight, and a ready-queue decides among them while the step runs (ready_turns.hpp).
#pragma once

#include <limits>

#include "schedule/order/order_kind.hpp"

namespace fourfold::inline schedule::inline order::inline kinds {

// Micro-batches that the queue lets in flight, if there are so many.
inline std::int64_t limit_of(const StepOptions& options, const Stage& stage) {
  const std::int64_t limit = options.pipeline_limit == 0 ? stage.count : options.pipeline_limit;
  return std::min(limit, options.micro_batches);
}

inline constexpr OrderKind message_driven{
    .order = PipelineOrder::message_driven,
    // As many forwards as may come before the first backward, but the last stage's backwards are
    // always ready.
    .plan = [](const StepOptions& options, const Stage& stage) -> TurnPlan {
      return warmed_up(options, stage.last() ? 0 : limit_of(options, stage) - 1);
    },
    .shortened = with_few_pairs,
    .add_turns =
        [](const TurnPlan& plan, const StepOptions& options, const Stage& stage, Order& order) {
          const std::int64_t limit = limit_of(options, stage);
          alternate(plan, limit - 1, order);
          order.ready = {limit, 1, 2 * options.micro_batches};
        },
    // The last ones are unlike, too: no message is received ahead any more.
    .settling =
        [](const StepOptions& options, const Stage& stage, std::int64_t periods) {
          StepOptions many = options;
          many.micro_batches = std::numeric_limits<std::int64_t>::max();
          return 2 + periods + limit_of(many, stage) - 1;
        }};

}  // namespace fourfold::inline schedule::inline order::inline kinds
