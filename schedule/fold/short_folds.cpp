// Finds short orders that have all there is to know, and puts long steps together; see
// short_folds.hpp.
#include "schedule/fold/short_folds.hpp"

#include <algorithm>
#include <utility>

#include "schedule/models/gpt.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::inline schedule::inline fold {

namespace {

// Of all there is to say of a turn but its micro-batch's number.
std::int64_t letter(const Turn& turn) {
  return ((turn.chunk * 2 + turn.first) * 2 + turn.last) * 16 + static_cast<int>(turn.part);
}

// Beyond the ends of an order.
constexpr std::int64_t nothing = -1;

bool reduces(const Turn& turn) {
  return turn.part == StepPart::backward || turn.part == StepPart::weight_gradient;
}

// By chunk of a stage. Which of a chunk's layers are recomputed follows from how many there are.
std::vector<std::vector<LayerKind>> layers_of(const Model& model, const StepOptions& options,
                                              const Stage& stage) {
  std::vector<std::vector<LayerKind>> layers;
  for (std::int64_t c = 0; c < options.chunks; ++c) {
    const auto [first, next] =
        layers_of_chunk(model, options, stage.count, c * stage.count + stage.index);
    layers.push_back(layer_kinds(model, first, next - first));
  }
  return layers;
}

// Whether the last two periods of each steady stretch, where there are two, are folded alike.
bool repeats(const Order& order, const TurnBodies& bodies) {
  for (const Steady& steady : order.steady) {
    if (steady.periods < 2) return false;
    const auto end = bodies.begin() + steady.first + steady.turns * steady.periods;
    if (!std::equal(end - steady.turns, end, end - 2 * steady.turns)) return false;
  }
  return !order.steady.empty();
}

}  // namespace

std::optional<Folded> ShortFolds::step(const Stage& stage, std::int64_t micro_batches) {
  if (row_of(options_.order).queue) return {};
  StepOptions options = options_;
  options.micro_batches = std::min(micro_batches, recorded_micro_batches(model_, options_, stage));
  for (;;) {
    const Order order = order_of(options, stage);
    const std::vector<Context> needed = contexts(order, stage);
    const Recorded& known = recorded(shortest(options, stage, needed), options, stage);
    if (!known.of_context) return {};
    TurnBodies bodies;
    for (const Context& context : needed) bodies.push_back(known.bodies.at(context));
    const bool all = options.micro_batches == micro_batches;
    const bool settled = repeats(order, bodies);
    if (all || settled) {
      Folded folded = known.folded;
      scale_caches(folded, options.micro_batches);
      folded.cycles = cycles_of(order, bodies);
      folded.steady = order.steady;
      folded.micro_batches = options.micro_batches;
      folded.settled = settled;
      if (!all) stretch(folded, micro_batches);
      return folded;
    }
    options.micro_batches = std::min(micro_batches, options.micro_batches + stage.count);
  }
}

std::vector<ShortFolds::Context> ShortFolds::contexts(const Order& order,
                                                      const Stage& stage) const {
  const std::int64_t layers = fewest_layers(model_, options_, stage.count);
  const auto history =
      static_cast<std::size_t>(1 + backwards_put_off(options_, std::max<std::int64_t>(1, layers)));
  const auto count = static_cast<std::int64_t>(order.turns.size());
  const auto at = [&](std::int64_t turn) {
    return turn < 0 || turn >= count ? nothing
                                     : letter(order.turns[static_cast<std::size_t>(turn)]);
  };
  std::vector<std::int64_t> before(history, nothing);
  std::vector<Context> result;
  for (std::int64_t i = 0; i < count; ++i) {
    const Turn& turn = order.turns[static_cast<std::size_t>(i)];
    // What follows a micro-batch's own forward need not be told where that ended.
    const bool goes_on =
        i > 0 && order.turns[static_cast<std::size_t>(i - 1)].micro_batch == turn.micro_batch;
    Context context{at(i - 2), at(i - 1), at(i), at(i + 1), goes_on};
    context.insert(context.end(), before.begin(), before.end());
    result.push_back(std::move(context));
    if (!reduces(turn)) continue;
    before.erase(before.begin());
    before.push_back(letter(turn));
  }
  return result;
}

Order ShortFolds::shortest(const StepOptions& options, const Stage& stage,
                           const std::vector<Context>& needed) const {
  for (std::int64_t most = 2;; ++most) {
    Order order = short_order(options, stage, most);
    if (order.turns.size() >= needed.size()) return order_of(options, stage);
    std::vector<Context> there = contexts(order, stage);
    std::ranges::sort(there);
    const bool enough = std::ranges::all_of(
        needed, [&](const Context& context) { return std::ranges::binary_search(there, context); });
    if (enough) return order;
  }
}

// The first stage whose program is the same, channels and all, but for the order: ends are unlike
// all others, and neighbours by turns have one channel and the other.
Stage ShortFolds::same_as(const Stage& stage) const {
  if (stage.first() || stage.last()) return stage;
  Stage other{2 - stage.index % 2, stage.count};
  while (layers_of(model_, options_, other) != layers_of(model_, options_, stage)) {
    other.index += 2;
  }
  return other;
}

const ShortFolds::Recorded& ShortFolds::recorded(const Order& order, const StepOptions& options,
                                                 const Stage& stage) {
  const Stage same = same_as(stage);
  const std::vector<Context> of_turns = contexts(order, stage);
  const auto [slot, fresh] = recorded_.try_emplace({same.index, same.count, of_turns});
  Recorded& result = slot->second;
  if (!fresh) return result;
  FoldedTurns turns = fold_turns(issue(record_step(model_, options, order, same), options));
  result.folded = std::move(turns.folded);
  for (std::size_t i = 0; i < of_turns.size(); ++i) {
    const auto [known, first] = result.bodies.try_emplace(of_turns[i], turns.bodies[i]);
    if (!first && known->second != turns.bodies[i]) result.of_context = false;
  }
  return result;
}

std::vector<Folded> folded_stages(const Model& model, const StepOptions& options,
                                  std::int64_t stages) {
  ShortFolds short_folds(model, options);
  std::vector<Folded> result;
  for (std::int64_t i = 0; i < stages; ++i) {
    std::optional<Folded> step;
    if (stages > 1) step = short_folds.step({i, stages}, options.micro_batches);
    result.push_back(step ? std::move(*step) : folded_step(model, options, {i, stages}));
  }
  return result;
}

}  // namespace fourfold::inline schedule::inline fold
