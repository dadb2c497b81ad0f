// Interleaved 1f1b: over several chunks of layers on each stage, in groups of micro-batches.
#pragma once

#include "schedule/order/order_kind.hpp"

namespace fourfold::inline schedule::inline order::inline kinds {

inline std::int64_t warm_up_of_chunks(const StepOptions& options, const Stage& stage) {
  return 2 * stages_behind(stage) + (options.chunks - 1) * stage.count;
}

inline constexpr OrderKind interleaved{
    .order = PipelineOrder::interleaved,
    .plan = [](const StepOptions& options, const Stage& stage) -> TurnPlan {
      const Passes passes{options.chunks > 1 ? stage.count : 1, options.chunks,
                          options.micro_batches};
      return {passes, std::min(warm_up_of_chunks(options, stage), passes.count())};
    },
    // Warm-up ends so far into a group, and so far from the next.
    .shortened =
        [](TurnPlan plan, std::int64_t most) {
          Passes& passes = plan.passes;
          if (passes.group == 1) return with_few_pairs(plan, most);
          const std::int64_t groups = passes.micro_batches / passes.group;
          const std::int64_t whole = plan.warm_up / passes.group;
          const std::int64_t into = std::min(plan.warm_up % passes.group, most);
          passes.group = into + std::min(passes.group - plan.warm_up % passes.group, most);
          passes.micro_batches =
              passes.group * std::min(groups, (whole + passes.chunks) / passes.chunks + most);
          plan.warm_up = whole * passes.group + into;
          return plan;
        },
    .add_turns = [](const TurnPlan& plan, const StepOptions&, const Stage&,
                    Order& order) { alternate(plan, 0, order); },
    .settling =
        [](const StepOptions& options, const Stage& stage, std::int64_t periods) {
          const std::int64_t group = options.chunks > 1 ? stage.count : 1;
          const std::int64_t warm =
              (warm_up_of_chunks(options, stage) + options.chunks - 1) / options.chunks;
          return (2 + periods) * group + (warm + group - 1) / group * group;
        }};

}  // namespace fourfold::inline schedule::inline order::inline kinds
