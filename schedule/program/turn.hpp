// A step is parts in an order: the straight pieces of a training step, and in which sequence, for
// which micro-batch, a device does them.
#pragma once

#include <cstdint>
#include <vector>

namespace fourfold {

enum class StepPart : std::uint8_t {
  start,     // once: values are declared
  forward,   // of one micro-batch through a chunk of layers
  backward,  // of the same, after its forward
  reduce,    // once: what is reduced after all backward passes
  finish     // once: clipping and the update
};

// One part for one micro-batch. Variants: the first backward starts sums of gradients and the first
// forward gathers what is kept; on the last hang reductions. All others are alike.
struct Turn {
  StepPart part = StepPart::start;
  std::int64_t micro_batch = -1;  // -1: no micro-batch's
  bool first = false;
  bool last = false;

  bool operator==(const Turn&) const = default;
};

// The stretch of an order that repeats: `periods` times the same `turns`, from turn `first` on,
// each time for the next `micro_batches`. What the overlaps move across turns needs some periods
// more until what is in flight repeats, too.
struct Steady {
  std::int64_t first = 0;
  std::int64_t turns = 0;
  std::int64_t periods = 0;
  std::int64_t micro_batches = 0;  // of one period
};

// What the devices of one stage do, turn by turn.
struct Order {
  std::vector<Turn> turns;
  Steady steady;

  // The period that a turn belongs to, counted from 0; -1 outside the steady stretch.
  std::int64_t period_of(std::int64_t turn) const {
    if (steady.turns == 0 || turn < steady.first) return -1;
    const std::int64_t period = (turn - steady.first) / steady.turns;
    return period < steady.periods ? period : -1;
  }
};

}  // namespace fourfold
