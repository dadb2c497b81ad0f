// A folded schedule says equal stretches of the stream once: a body for each distinct section, runs
// over layers, cycles over micro-batches. It serves every grid and is what the fast rungs evaluate.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/collectives/collective.hpp"
#include "schedule/models/model.hpp"
#include "schedule/order/issue.hpp"

namespace fourfold::inline schedule::inline fold {

// Bytes of a value as a sum over shapes: a pack of eight biases is eight terms.
struct Size {
  struct Term {
    std::int32_t shape = 0;
    std::int32_t times = 1;
    bool operator==(const Term&) const = default;
  };
  std::vector<Term> terms;
  Precision precision = Precision::bf16;
  bool operator==(const Size&) const = default;
};

// Compute operations that cost the same on every grid.
struct OpClass {
  OpKind kind = OpKind::map;
  const Function* function = &functions::none;
  GemmForm form = GemmForm::nn;
  Attributes attributes{};
  std::vector<std::int32_t> reads, writes;  // sizes
  std::int32_t shape_a = -1, shape_b = -1;  // operands of a gemm, first operand of attention
  std::vector<std::int32_t> fetched;        // sizes of what comes from the host
  std::int32_t bucket = -1;                 // size of the room for it on the device
  bool operator==(const OpClass&) const = default;
};

struct CollectiveClass {
  CollectiveKind kind = CollectiveKind::all_reduce;
  ChannelNumber channel = 0;
  std::int32_t buffer = 0;  // size of the whole buffer: gathered, or before scattering
  bool operator==(const CollectiveClass&) const = default;
};

struct FoldedStep {
  IssueKind kind = IssueKind::compute;  // compute, start, wait or choose
  ChannelNumber channel = 0;            // start, wait
  std::int32_t index = 0;               // compute: bundle; start: collective class
  std::int32_t back = 0;                // wait
  bool operator==(const FoldedStep&) const = default;
};

struct BufferEvent {
  std::int32_t size = 0;
  std::int32_t sign = 1;  // +1 allocated, -1 released; n: that many allocated
  Role role = Role::activation;
  Existence existence = Existence::always;
  Axis axis = Axis::z;
  bool on_host = false;  // in the memory of the device's host
  bool operator==(const BufferEvent&) const = default;
};

struct Body {
  std::int32_t section = 0;  // the first section of the program that it stands for
  std::vector<FoldedStep> steps;
  std::vector<BufferEvent> events;
  bool operator==(const Body&) const = default;
};

struct BodyRun {
  std::int32_t body = 0;
  std::int64_t repeats = 1;
  StepPart part = StepPart::start;  // that it is of, in an order with a ready-queue
  bool operator==(const BodyRun&) const = default;
};

struct BodyCycle {
  std::vector<BodyRun> runs;
  std::int64_t repeats = 1;
  std::int64_t micro_batch = -1;  // the first one it stands for
  Order::Period period;           // of a steady stretch, the last one it stands for
  bool operator==(const BodyCycle&) const = default;
};

struct Folded {
  std::vector<Channel> channels;
  std::vector<Shape> shapes;
  std::vector<Size> sizes;
  std::vector<OpClass> classes;
  std::vector<std::vector<std::int32_t>> bundles;  // classes computed one after the other
  std::vector<CollectiveClass> collectives;
  std::vector<Body> bodies;
  std::vector<BodyCycle> cycles;
  std::vector<BufferEvent> persistent;  // what is there before and after the step, by size and role
  std::vector<BufferEvent> on_host;     // the same in the memory of the device's host
  bool copies_to_host = false;          // whether anything comes and goes there in a step
  std::int64_t micro_batches = 0;       // that it stands for
  std::vector<Steady> steady;           // as the order declares them
  ReadyQueue ready;                     // with the turns of all micro-batches
  bool settled = false;  // whether their last periods leave in flight what they found
  bool operator==(const Folded&) const = default;
};

Folded fold_schedule(const Schedule& schedule);

// What the turns of an order are folded to, one body after the other.
using TurnBodies = std::vector<std::vector<std::int32_t>>;
struct FoldedTurns {
  Folded folded;
  TurnBodies bodies;
};
FoldedTurns fold_turns(const Schedule& schedule);
// Cycles are periods of steady stretches, and outside them micro-batches.
std::vector<BodyCycle> cycles_of(const Order& order, const TurnBodies& bodies);

// Backward passes of so many sections, blocks as a rule, from which reduce-scatters may be in
// flight where the next one begins.
std::int64_t backwards_put_off(const StepOptions& options, std::int64_t sections);

// Micro-batches that are enough to know all: those outside the order's steady stretches, one period
// that stands for all, and before it as many as it takes until gradients that are put off come from
// micro-batches alike. Example: 3 on one stage without ORS, 4 with a window of up to a whole
// backward pass.
std::int64_t recorded_micro_batches(const Model& model, const StepOptions& options,
                                    const Stage& stage = {});

// The folded step of a stage for any number of micro-batches: a few are recorded, and the last
// periods of the order's steady stretches are repeated (tested against recording all).
Folded folded_step(const Model& model, const StepOptions& options, const Stage& stage = {});

// Makes a folded step one of more micro-batches. Throws std::logic_error if it has no steady
// stretch, or if one has not settled.
void stretch(Folded& folded, std::int64_t micro_batches);

// The caches that outlive the step become those of so many micro-batches: each has as much.
void scale_caches(Folded& folded, std::int64_t micro_batches);

// Recorded with as many micro-batches as are enough, at most those asked for, and issued.
Schedule recorded_schedule(const Model& model, const StepOptions& options, const Stage& stage = {});

}  // namespace fourfold::inline schedule::inline fold
