// A phase that trains nothing: each micro-batch through all chunks.
#pragma once

#include "schedule/order/kinds/gpipe.hpp"

namespace fourfold::inline schedule::inline order::inline kinds {

inline constexpr OrderKind forwards_alone{
    .order = PipelineOrder::gpipe,
    .plan = gpipe.plan,
    .shortened = gpipe.shortened,
    .add_turns =
        [](const TurnPlan& plan, const StepOptions&, const Stage&, Order& order) {
          const Passes& passes = plan.passes;
          const auto begin = static_cast<std::int64_t>(order.turns.size());
          for (std::int64_t k = 0; k < passes.count(); ++k) {
            order.turns.push_back(passes.at(StepPart::forward, k));
          }
          order.steady.push_back({begin + passes.chunks, passes.chunks,
                                  std::max<std::int64_t>(0, passes.micro_batches - 2), 1});
        },
    .settling = gpipe.settling};

}  // namespace fourfold::inline schedule::inline order::inline kinds
