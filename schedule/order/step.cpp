// Orders, their check, and recording along them; see step.hpp.
#include "schedule/order/step.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "schedule/models/gpt.hpp"

namespace fourfold {

namespace {

std::string numbered(const char* what, std::int64_t micro_batch) {
  return std::string("order: the ") + what + " of micro-batch " + std::to_string(micro_batch);
}

// The same part in the next period: for the micro-batches after these.
bool alike(const Turn& turn, const Turn& later, std::int64_t micro_batches) {
  Turn moved = turn;
  if (moved.micro_batch >= 0) moved.micro_batch += micro_batches;
  return moved == later;
}

std::string fault_of_steady(const Order& order) {
  const Steady& steady = order.steady;
  if (steady.periods == 0) return "";
  const auto count = static_cast<std::int64_t>(order.turns.size());
  if (steady.first < 0 || steady.turns < 1 ||
      steady.first + steady.turns * steady.periods > count) {
    return "order: the steady stretch lies outside the order";
  }
  for (std::int64_t i = steady.first; i < steady.first + steady.turns * (steady.periods - 1); ++i) {
    const auto turn = static_cast<std::size_t>(i);
    const auto later = static_cast<std::size_t>(i + steady.turns);
    if (!alike(order.turns[turn], order.turns[later], steady.micro_batches)) {
      return "order: turn " + std::to_string(later) +
             " is in the steady stretch, but not as turn " + std::to_string(turn) +
             ", a period before it";
    }
  }
  return "";
}

}  // namespace

Order one_by_one(const StepOptions& options) {
  const std::int64_t count = options.micro_batches;
  Order order;
  order.turns.push_back({StepPart::start});
  for (std::int64_t i = 0; i < count; ++i) {
    for (StepPart part : {StepPart::forward, StepPart::backward}) {
      order.turns.push_back({part, i, i == 0, i + 1 == count});
    }
  }
  if (options.data_reduction == DataReduction::after_backward) {
    order.turns.push_back({StepPart::reduce});
  }
  order.turns.push_back({StepPart::finish});
  order.steady = {3, 2, std::max<std::int64_t>(0, count - 2), 1};
  return order;
}

std::string fault(const Order& order) {
  const auto finishes = [](const Turn& turn) { return turn.part == StepPart::finish; };
  if (order.turns.empty() || order.turns.front().part != StepPart::start) {
    return "order: it must begin with the start";
  }
  if (!finishes(order.turns.back()) ||
      std::count_if(order.turns.begin(), order.turns.end(), finishes) != 1) {
    return "order: it must end with the one finish";
  }
  std::map<std::int64_t, int> passes;  // by micro-batch: 1 after its forward, 2 after its backward
  for (const Turn& turn : order.turns) {
    if (turn.part == StepPart::forward && passes[turn.micro_batch]++ != 0) {
      return numbered("forward", turn.micro_batch) + " comes twice";
    }
    if (turn.part == StepPart::backward && passes[turn.micro_batch]++ != 1) {
      return numbered("backward", turn.micro_batch) +
             (passes[turn.micro_batch] == 1 ? " comes before its forward" : " comes twice");
    }
    if (turn.part != StepPart::reduce && !finishes(turn)) continue;
    for (const auto& [micro_batch, done] : passes) {
      if (done != 2) return numbered("backward", micro_batch) + " does not come";
    }
  }
  return fault_of_steady(order);
}

Program record_step(const Model& model, const StepOptions& options, const Order& order) {
  if (const std::string why = fault(order); !why.empty()) throw std::invalid_argument(why);
  Gpt gpt(model, options, OptimizerState::kept);
  for (const Turn& turn : order.turns) gpt.record(turn);
  return gpt.program(order.steady);
}

Program record_step(const Model& model, const StepOptions& options) {
  return record_step(model, options, one_by_one(options));
}

Program record_evaluation(const Model& model, const StepOptions& options) {
  return Gpt::evaluation(model, options);
}

}  // namespace fourfold
