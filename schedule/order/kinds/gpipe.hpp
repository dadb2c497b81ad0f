// GPipe: all forwards, then all backwards.
#pragma once

#include "schedule/order/order_kind.hpp"

namespace fourfold::inline schedule::inline order::inline kinds {

inline constexpr OrderKind gpipe{
    .order = PipelineOrder::gpipe,
    .plan = [](const StepOptions& options, const Stage&) -> TurnPlan {
      return {{1, options.chunks, options.micro_batches}};
    },
    .shortened =
        [](TurnPlan plan, std::int64_t most) {
          plan.passes.micro_batches = std::min(plan.passes.micro_batches, most);
          return plan;
        },
    .add_turns =
        [](const TurnPlan& plan, const StepOptions&, const Stage&, Order& order) {
          const std::int64_t count = plan.passes.count();
          for (StepPart part : {StepPart::forward, StepPart::backward}) {
            const auto begin = static_cast<std::int64_t>(order.turns.size());
            for (std::int64_t k = 0; k < count; ++k) order.turns.push_back(plan.passes.at(part, k));
            order.steady.push_back({begin + 1, 1, std::max<std::int64_t>(0, count - 2), 1});
          }
        },
    .settling = [](const StepOptions&, const Stage&, std::int64_t periods) { return 2 + periods; }};

}  // namespace fourfold::inline schedule::inline order::inline kinds
