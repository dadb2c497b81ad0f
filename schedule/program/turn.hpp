// A step is parts in an order: the straight pieces of a training step, and in which sequence, for
// which micro-batch, a device does them.
#pragma once

#include <cstdint>
#include <vector>

namespace fourfold::inline schedule::inline program {

enum class StepPart : std::uint8_t {
  start,            // once: values are declared
  forward,          // of one micro-batch through a chunk of layers
  backward,         // of the same, after its forward
  input_gradient,   // a backward without the gradients of weights: all that the stage before needs
  weight_gradient,  // the gradients of weights that an input_gradient has left
  reduce,           // once: what is reduced after all backward passes
  finish            // once: clipping and the update
};

// One part for one micro-batch. Variants: the first backward of a chunk, or weight gradient, starts
// sums of gradients and the first forward gathers what is kept; on the last hang reductions. All
// others are alike.
struct Turn {
  StepPart part = StepPart::start;
  std::int64_t micro_batch = -1;  // -1: no micro-batch's
  bool first = false;
  bool last = false;
  std::int64_t chunk = 0;  // of this stage's, counted from 0

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
  bool operator==(const Steady&) const = default;
};

// A stretch of an order that is decided while it runs: a turn is a forward or a backward, whichever
// message has arrived, and a backward if both have. Forwards come in the order of micro-batches,
// and so do backwards; the order's own turns are the sequence in which most is in flight.
struct ReadyQueue {
  std::int64_t limit = 0;  // micro-batches in flight at most; 0: nothing is decided
  std::int64_t first = 0;  // of the turns
  std::int64_t turns = 0;  // two for each micro-batch

  bool holds(std::int64_t turn) const { return turn >= first && turn < first + turns; }
  bool operator==(const ReadyQueue&) const = default;
};

// What the devices of one stage do, turn by turn. Steady stretches come one after the other.
struct Order {
  std::vector<Turn> turns;
  std::vector<Steady> steady;
  ReadyQueue ready;

  // The period of a steady stretch that a turn belongs to, both counted from 0.
  struct Period {
    std::int64_t stretch = -1;  // -1: none
    std::int64_t number = -1;
    bool operator==(const Period&) const = default;
  };
  Period period_of(std::int64_t turn) const {
    for (std::size_t i = 0; i < steady.size(); ++i) {
      const Steady& s = steady[i];
      if (s.turns == 0 || turn < s.first) continue;
      const std::int64_t number = (turn - s.first) / s.turns;
      if (number < s.periods) return {static_cast<std::int64_t>(i), number};
    }
    return {};
  }
};

// A stage of a pipeline: a stretch of the model's layers, in one piece or in chunks dealt out in
// turn. One stage has the whole model.
struct Stage {
  std::int64_t index = 0;
  std::int64_t count = 1;

  bool first() const { return index == 0; }
  bool last() const { return index + 1 == count; }
  bool operator==(const Stage&) const = default;
};

}  // namespace fourfold::inline schedule::inline program
