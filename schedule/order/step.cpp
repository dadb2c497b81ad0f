// Orders, their check, and recording along them; see step.hpp.
#include "schedule/order/step.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "schedule/models/gpt.hpp"
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

// The k-th pass of all chunks of a stage, forward or backward: micro-batches go through the chunks
// in groups of as many as there are stages, as in Megatron-LM.
struct Passes {
  std::int64_t group = 1;
  std::int64_t chunks = 1;
  std::int64_t micro_batches = 1;

  std::int64_t count() const { return micro_batches * chunks; }
  Turn at(StepPart part, std::int64_t k) const {
    const std::int64_t round = k / group;
    const std::int64_t in_turn = round % chunks;
    const std::int64_t micro_batch = round / chunks * group + k % group;
    return {part, micro_batch, micro_batch == 0, micro_batch + 1 == micro_batches,
            part == StepPart::forward ? in_turn : chunks - 1 - in_turn};
  }
};

// `warm_up` forwards, then one forward and one backward in turn, then the backwards that are left.
// The last `ending` backwards at least are no part of the steady stretch.
void alternate(const Passes& passes, std::int64_t warm_up, std::int64_t ending, Order& order) {
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

// As `alternate`, but a backward is an input gradient, and weight gradients follow it from the one
// after next, or later, on: a stage puts them off by as many micro-batches as stages stand before
// it. So gradients come back to the first stage as soon as they can, the last stages have work left
// for the end, and all have as many micro-batches in flight until their weight gradients.
void put_off_weight_gradients(const Passes& passes, std::int64_t warm_up, std::int64_t put_off,
                              Order& order) {
  const std::int64_t count = passes.count();
  const auto add = [&](StepPart part, std::int64_t k) {
    if (k >= 0 && k < count) order.turns.push_back(passes.at(part, k));
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
}

// Whether backwards are split: alone, a stage has no gaps to fill.
bool splits(const StepOptions& options, const Stage& stage) {
  return options.order == PipelineOrder::zero_bubble && stage.count > 1;
}

// Micro-batches that a ready-queue lets in flight, if there are so many.
std::int64_t limit_of(const StepOptions& options, const Stage& stage) {
  const std::int64_t limit = options.pipeline_limit == 0 ? stage.count : options.pipeline_limit;
  return std::min(limit, options.micro_batches);
}

// Forwards before the first backward, if there are so many. In a ready-queue as many as may come,
// but the last stage's backwards are always ready.
std::int64_t warm_up(const StepOptions& options, const Stage& stage) {
  if (options.order == PipelineOrder::message_driven) {
    return stage.last() ? 0 : limit_of(options, stage) - 1;
  }
  const std::int64_t after = stage.count - stage.index - 1;
  const bool interleaved = options.order == PipelineOrder::interleaved;
  return interleaved ? 2 * after + (options.chunks - 1) * stage.count : after;
}

void all_forward_then_backward(const Passes& passes, Order& order) {
  for (StepPart part : {StepPart::forward, StepPart::backward}) {
    const auto begin = static_cast<std::int64_t>(order.turns.size());
    for (std::int64_t k = 0; k < passes.count(); ++k) order.turns.push_back(passes.at(part, k));
    order.steady.push_back({begin + 1, 1, std::max<std::int64_t>(0, passes.count() - 2), 1});
  }
}

// Of a phase that trains nothing: each micro-batch through all chunks.
void all_forward(const Passes& passes, Order& order) {
  const auto begin = static_cast<std::int64_t>(order.turns.size());
  for (std::int64_t k = 0; k < passes.count(); ++k) {
    order.turns.push_back(passes.at(StepPart::forward, k));
  }
  order.steady.push_back({begin + passes.chunks, passes.chunks,
                          std::max<std::int64_t>(0, passes.micro_batches - 2), 1});
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

// What an order is made of.
struct TurnPlan {
  Passes passes;
  std::int64_t warm_up = 0;  // forwards before the first backward
  std::int64_t put_off = 0;  // micro-batches that weight gradients are put off by
};

TurnPlan plan_of(const StepOptions& options, const Stage& stage) {
  const bool groups = options.chunks > 1 && options.trains();
  const Passes passes{groups ? stage.count : 1, options.chunks, options.micro_batches};
  return {passes, std::min(warm_up(options, stage), passes.count()), stage.index};
}

// `most` forwards, pairs or backwards in a row, where there are more.
TurnPlan shortened(TurnPlan plan, const StepOptions& options, const Stage& stage,
                   std::int64_t most) {
  Passes& passes = plan.passes;
  const auto few = [most](std::int64_t count) { return std::min(count, most); };
  if (options.order == PipelineOrder::gpipe || !options.trains()) {
    passes.micro_batches = few(passes.micro_batches);
    return plan;
  }
  if (passes.group > 1) {
    // Warm-up ends so far into a group, and so far from the next.
    const std::int64_t groups = passes.micro_batches / passes.group;
    const std::int64_t whole = plan.warm_up / passes.group;
    const std::int64_t into = few(plan.warm_up % passes.group);
    passes.group = into + few(passes.group - plan.warm_up % passes.group);
    passes.micro_batches =
        passes.group * std::min(groups, (whole + passes.chunks) / passes.chunks + most);
    plan.warm_up = whole * passes.group + into;
    return plan;
  }
  const std::int64_t pairs = passes.micro_batches - plan.warm_up;
  std::int64_t new_pairs = few(pairs);
  if (splits(options, stage)) {
    const bool all_three = pairs > plan.put_off;
    new_pairs = all_three ? few(plan.put_off) + few(pairs - plan.put_off) : few(pairs);
    plan.put_off = all_three ? few(plan.put_off) : new_pairs + few(plan.put_off - pairs);
  }
  plan.warm_up = few(plan.warm_up);
  passes.micro_batches = plan.warm_up + new_pairs;
  return plan;
}

Order order_by(const TurnPlan& plan, const StepOptions& options, const Stage& stage) {
  Order order;
  order.turns.push_back({StepPart::start});
  if (!options.trains()) {
    all_forward(plan.passes, order);
    order.turns.push_back({StepPart::finish});
    return order;
  }
  if (options.order == PipelineOrder::gpipe) {
    all_forward_then_backward(plan.passes, order);
  } else if (splits(options, stage)) {
    put_off_weight_gradients(plan.passes, plan.warm_up, plan.put_off, order);
  } else {
    const bool queue = options.order == PipelineOrder::message_driven;
    alternate(plan.passes, plan.warm_up, queue ? limit_of(options, stage) - 1 : 0, order);
    if (queue) order.ready = {limit_of(options, stage), 1, 2 * options.micro_batches};
  }
  if (options.data_reduction == DataReduction::after_backward) {
    order.turns.push_back({StepPart::reduce});
  }
  order.turns.push_back({StepPart::finish});
  return order;
}

}  // namespace

Order order_of(const StepOptions& options, const Stage& stage) {
  return order_by(plan_of(options, stage), options, stage);
}

Order short_order(const StepOptions& options, const Stage& stage, std::int64_t most) {
  return order_by(shortened(plan_of(options, stage), options, stage, most), options, stage);
}

std::int64_t settling_micro_batches(const StepOptions& options, const Stage& stage,
                                    std::int64_t periods) {
  if (options.order == PipelineOrder::gpipe || !options.trains()) return 2 + periods;
  if (splits(options, stage)) return stage.count + 1 + periods;
  if (options.order == PipelineOrder::message_driven) {
    // The last ones are unlike, too: no message is received ahead any more.
    StepOptions many = options;
    many.micro_batches = std::numeric_limits<std::int64_t>::max();
    return 2 + periods + limit_of(many, stage) - 1;
  }
  const std::int64_t group = options.chunks > 1 ? stage.count : 1;
  const std::int64_t warm = (warm_up(options, stage) + options.chunks - 1) / options.chunks;
  return (2 + periods) * group + (warm + group - 1) / group * group;
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
  if (options.order == PipelineOrder::zero_bubble) options.order = PipelineOrder::one_f_one_b;
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
