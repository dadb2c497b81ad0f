// ZB-H1: 1f1b whose backwards are split. A backward is an input gradient, and weight gradients
// follow it from the one after next, or later, on: a stage puts them off by as many micro-batches
// as stages stand before it. So gradients come back to the first stage as soon as they can, the
// last stages have work left for the end, and all have as many micro-batches in flight until their
// weight gradients. Alone, a stage has no gaps to fill (pipeline_order.hpp).
#pragma once

#include "schedule/order/order_kind.hpp"

namespace fourfold::inline schedule::inline order::inline kinds {

inline constexpr OrderKind zero_bubble{
    .order = PipelineOrder::zero_bubble,
    .plan = [](const StepOptions& options, const Stage& stage) -> TurnPlan {
      TurnPlan plan = warmed_up(options, stages_behind(stage));
      plan.put_off = stage.index;
      return plan;
    },
    .shortened =
        [](TurnPlan plan, std::int64_t most) {
          const auto few = [most](std::int64_t count) { return std::min(count, most); };
          const std::int64_t pairs = plan.passes.micro_batches - plan.warm_up;
          const bool all_three = pairs > plan.put_off;
          const std::int64_t new_pairs =
              all_three ? few(plan.put_off) + few(pairs - plan.put_off) : few(pairs);
          plan.put_off = all_three ? few(plan.put_off) : new_pairs + few(plan.put_off - pairs);
          plan.warm_up = few(plan.warm_up);
          plan.passes.micro_batches = plan.warm_up + new_pairs;
          return plan;
        },
    .add_turns =
        [](const TurnPlan& plan, const StepOptions&, const Stage&, Order& order) {
          const auto& [passes, warm_up, put_off] = plan;
          const std::int64_t count = passes.count();
          const auto add = [&, &all = passes](StepPart part, std::int64_t k) {
            if (k >= 0 && k < count) order.turns.push_back(all.at(part, k));
          };
          for (std::int64_t k = 0; k < warm_up; ++k) add(StepPart::forward, k);
          const auto begin = static_cast<std::int64_t>(order.turns.size());
          for (std::int64_t k = 0; k < count + put_off; ++k) {
            add(StepPart::forward, warm_up + k);
            add(StepPart::input_gradient, k);
            add(StepPart::weight_gradient, k - put_off);
          }
          // Steady from the second weight gradient on to where the last micro-batch comes in.
          const std::int64_t from = put_off + 1;
          order.steady.push_back({begin + 2 * put_off + 3 * (from - put_off), 3,
                                  std::max<std::int64_t>(0, count - 1 - warm_up - from), 1});
        },
    .settling = [](const StepOptions&, const Stage& stage,
                   std::int64_t periods) { return stage.count + 1 + periods; }};

}  // namespace fourfold::inline schedule::inline order::inline kinds
