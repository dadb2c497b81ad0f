// Orders, their check, and recording along them; see step.hpp.
#include "schedule/order/step.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "schedule/models/gpt.hpp"
#include "schedule/order/order_kind.hpp"
#include "schedule/program/options_in_effect.hpp"

namespace fourfold::inline schedule::inline order {

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

std::string fault_of(const Steady& steady, const Order& order) {
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

// How far a micro-batch is through a chunk.
enum class Passed : std::uint8_t { nothing, forward, half_back, back };

Passed after(StepPart part) {
  if (part == StepPart::forward) return Passed::forward;
  return part == StepPart::input_gradient ? Passed::half_back : Passed::back;
}

// Why a turn cannot come now.
std::string fault_of(const Turn& turn, Passed passed) {
  const auto says = [&](const char* part, const char* what) {
    return numbered(part, turn.micro_batch) + what;
  };
  switch (turn.part) {
    case StepPart::forward:
      return passed == Passed::nothing ? "" : says("forward", " comes twice");
    case StepPart::weight_gradient:
      if (passed == Passed::half_back) return "";
      return says("weight gradient",
                  passed == Passed::back ? " comes twice" : " comes before its input gradient");
    default:
      if (passed == Passed::forward) return "";
      return says("backward",
                  passed == Passed::nothing ? " comes before its forward" : " comes twice");
  }
}

}  // namespace

namespace {

Order order_by(const OrderKind& kind, const TurnPlan& plan, const StepOptions& options,
               const Stage& stage) {
  Order order;
  order.turns.push_back({StepPart::start});
  kind.add_turns(plan, options, stage, order);
  if (options.trains() && options.data_reduction == DataReduction::after_backward) {
    order.turns.push_back({StepPart::reduce});
  }
  order.turns.push_back({StepPart::finish});
  return order;
}

}  // namespace

Order order_of(const StepOptions& options, const Stage& stage) {
  const OrderKind& kind = kind_of(options, stage);
  return order_by(kind, kind.plan(options, stage), options, stage);
}

Order short_order(const StepOptions& options, const Stage& stage, std::int64_t most) {
  const OrderKind& kind = kind_of(options, stage);
  return order_by(kind, kind.shortened(kind.plan(options, stage), most), options, stage);
}

std::int64_t settling_micro_batches(const StepOptions& options, const Stage& stage,
                                    std::int64_t periods) {
  return kind_of(options, stage).settling(options, stage, periods);
}

std::string fault(const Order& order, bool trains) {
  const auto finishes = [](const Turn& turn) { return turn.part == StepPart::finish; };
  if (order.turns.empty() || order.turns.front().part != StepPart::start) {
    return "order: it must begin with the start";
  }
  if (!finishes(order.turns.back()) ||
      std::count_if(order.turns.begin(), order.turns.end(), finishes) != 1) {
    return "order: it must end with the one finish";
  }
  std::map<std::pair<std::int64_t, std::int64_t>, Passed> passes;  // by chunk and micro-batch
  for (const Turn& turn : order.turns) {
    if (turn.micro_batch >= 0) {
      Passed& passed = passes[{turn.chunk, turn.micro_batch}];
      if (const std::string why = fault_of(turn, passed); !why.empty()) return why;
      passed = after(turn.part);
    }
    if (turn.part != StepPart::reduce && !finishes(turn)) continue;
    for (const auto& [pass, passed] : passes) {
      if (passed == (trains ? Passed::back : Passed::forward)) continue;
      if (!trains) return numbered("backward", pass.second) + " trains, and this phase does not";
      const bool split = passed == Passed::half_back;
      return numbered(split ? "weight gradient" : "backward", pass.second) + " does not come";
    }
  }
  std::string why;
  for (const Steady& steady : order.steady) {
    if (why.empty()) why = fault_of(steady, order);
  }
  return why;
}

namespace {

// Nothing is chosen where one turn alone can come next: always on the last stage, whose backwards
// are ready as soon as its forwards are done, and with one micro-batch in flight.
bool chooses_after(const Order& order, const Turn& turn, const Stage& stage) {
  if (order.ready.limit < 2 || stage.last()) return false;
  return turn.part == StepPart::forward || (turn.part == StepPart::backward && !turn.last);
}

}  // namespace

StepOptions plain(StepOptions options, std::int64_t stages) {
  if (!options.trains()) options = forward_alone(options);
  if (options.recompute == Recompute::selective && options.attention == AttentionKernel::fused) {
    options.recompute = Recompute::none;
  }
  options.cut_messages = stages > 1 && options.cuts_messages();
  if (stages > 1) return options;
  if (row_of(options.order).gaps) options.order = PipelineOrder::one_f_one_b;
  options.overlap.messages = true;
  return options;
}

Program record_step(const Model& model, const StepOptions& options, const Order& order,
                    const Stage& stage) {
  const std::string why = fault(order, options.trains());
  if (!why.empty()) throw std::invalid_argument(why);
  Gpt gpt(model, options, stage);
  for (const Turn& turn : order.turns) {
    gpt.record(turn);
    if (chooses_after(order, turn, stage)) gpt.choose();
  }
  return gpt.program(order.steady, order.ready);
}

Program record_step(const Model& model, const StepOptions& options, const Stage& stage) {
  return record_step(model, options, order_of(options, stage), stage);
}

Program record_forward(const Model& model, const StepOptions& options, Phase phase,
                       const Stage& stage) {
  StepOptions forward = options;
  forward.phase = phase;
  forward.micro_batches = 1;
  return record_step(model, forward, stage);
}

Program record_evaluation(const Model& model, const StepOptions& options, const Stage& stage) {
  return record_forward(model, options, Phase::evaluation, stage);
}

}  // namespace fourfold::inline schedule::inline order
