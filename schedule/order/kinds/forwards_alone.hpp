// A phase that trains nothing: the forwards of a training step, in its order.
#pragma once

#include "schedule/order/order_kind.hpp"

namespace fourfold::inline schedule::inline order::inline kinds {

inline TurnPlan plan_of_training(const StepOptions& options, const Stage& stage) {
  return training_kind_of(options, stage).plan(options, stage);
}

inline constexpr OrderKind forwards_alone{
    .order = PipelineOrder::gpipe,
    .plan = plan_of_training,
    .shortened =
        [](TurnPlan plan, std::int64_t most) {
          Passes& passes = plan.passes;
          const std::int64_t groups = std::min(passes.groups(), most);
          passes.group = std::min(passes.group, most);
          passes.micro_batches = std::min(passes.micro_batches, groups * passes.group);
          return plan;
        },
    // Steady are all groups of micro-batches but the first and the last.
    .add_turns =
        [](const TurnPlan& plan, const StepOptions&, const Stage&, Order& order) {
          const Passes& passes = plan.passes;
          const auto begin = static_cast<std::int64_t>(order.turns.size());
          for (std::int64_t k = 0; k < passes.count(); ++k) {
            order.turns.push_back(passes.at(StepPart::forward, k));
          }
          const std::int64_t turns = passes.group * passes.chunks;
          order.steady.push_back(
              {begin + turns, turns, std::max<std::int64_t>(0, passes.groups() - 2), passes.group});
        },
    .settling =
        [](const StepOptions& options, const Stage& stage, std::int64_t periods) {
          return (2 + periods) * plan_of_training(options, stage).passes.group;
        }};

}  // namespace fourfold::inline schedule::inline order::inline kinds
