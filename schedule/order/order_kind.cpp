// The table of orders, and what several of them share; see order_kind.hpp.
#include "schedule/order/order_kind.hpp"

#include <array>

#include "schedule/order/kinds/forwards_alone.hpp"
#include "schedule/order/kinds/gpipe.hpp"
#include "schedule/order/kinds/interleaved.hpp"
#include "schedule/order/kinds/message_driven.hpp"
#include "schedule/order/kinds/one_f_one_b.hpp"
#include "schedule/order/kinds/zero_bubble.hpp"

namespace fourfold::inline schedule::inline order {

namespace {

constexpr std::array order_kinds{kinds::one_f_one_b, kinds::gpipe, kinds::interleaved,
                                 kinds::zero_bubble, kinds::message_driven};

constexpr bool in_order() {
  for (std::size_t i = 0; i < order_kinds.size(); ++i) {
    if (order_kinds[i].order != pipeline_orders[i].order) return false;
  }
  return order_kinds.size() == pipeline_orders.size();
}
static_assert(in_order(), "every order has its kind, at its own place");

}  // namespace

const OrderKind& kind_of(const StepOptions& options, const Stage& stage) {
  return options.trains() ? training_kind_of(options, stage) : kinds::forwards_alone;
}

const OrderKind& training_kind_of(const StepOptions& options, const Stage& stage) {
  const bool no_gaps = row_of(options.order).gaps && stage.count == 1;
  const PipelineOrder order = no_gaps ? PipelineOrder::one_f_one_b : options.order;
  return order_kinds[static_cast<std::size_t>(order)];
}

void alternate(const TurnPlan& plan, std::int64_t ending, Order& order) {
  const auto& [passes, warm_up, put_off] = plan;
  const std::int64_t count = passes.count();
  for (std::int64_t k = 0; k < warm_up; ++k) {
    order.turns.push_back(passes.at(StepPart::forward, k));
  }
  const auto begin = static_cast<std::int64_t>(order.turns.size());
  for (std::int64_t k = 0; k < count; ++k) {
    if (warm_up + k < count) {
      order.turns.push_back(passes.at(StepPart::forward, warm_up + k));
    }
    order.turns.push_back(passes.at(StepPart::backward, k));
  }
  // Steady from where the first micro-batch has passed back to where the last one comes in.
  const std::int64_t in_period = passes.group * passes.chunks;
  const std::int64_t from = in_period;
  const std::int64_t to = count - in_period - std::max(warm_up, ending);
  order.steady.push_back({begin + 2 * from, 2 * in_period,
                          std::max<std::int64_t>(0, (to - from) / in_period), passes.group});
}

}  // namespace fourfold::inline schedule::inline order
