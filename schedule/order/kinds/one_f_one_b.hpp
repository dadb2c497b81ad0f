// 1f1b: as many forwards as it takes to the last stage and back, then one forward, one backward.
#pragma once

#include "schedule/order/order_kind.hpp"

namespace fourfold::inline schedule::inline order::inline kinds {

inline constexpr OrderKind one_f_one_b{
    .order = PipelineOrder::one_f_one_b,
    .plan = [](const StepOptions& options, const Stage& stage) -> TurnPlan {
      return warmed_up(options, stages_behind(stage));
    },
    .shortened = with_few_pairs,
    .add_turns = [](const TurnPlan& plan, const StepOptions&, const Stage&,
                    Order& order) { alternate(plan, 0, order); },
    .settling = [](const StepOptions&, const Stage& stage,
                   std::int64_t periods) { return 2 + periods + stages_behind(stage); }};

}  // namespace fourfold::inline schedule::inline order::inline kinds
