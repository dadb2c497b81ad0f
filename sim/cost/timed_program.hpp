// The schedules of all stages with seconds in them: what every device does, step by step, on one
// grid and one platform. Both timed rungs interpret this value: the estimate in closed form, the
// replay with SimGrid.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "platforms/network/link.hpp"
#include "schedule/collectives/collective.hpp"
#include "schedule/program/channel.hpp"
#include "schedule/program/turn.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline sim::inline cost {

// What one collective costs its group, decided once, when the step is lowered.
// Alone it takes delay + work / min(rate_cap, rate its links give).
struct CollectiveCost {
  Seconds delay;  // base, hops, and the part of latency that bandwidth does not hide
  Bytes work;  // that every member sends, with flags: 2 (n-1)/n S for a simple ring all-reduce of S
  BytesPerSecond rate_cap;  // what the library's protocol sustains per member
};

// Ways to put a message on the wire: low_latency flags every 4 bytes with 4 bytes of its own, so
// that no hop waits for a fence, and sends twice the payload; simple sends the payload and
// synchronises.
enum class WireProtocol : std::uint8_t { low_latency, simple };

// While a collective and kernels run side by side, kernels run at 1 - of_kernels of their speed and
// the collective at 1 - of_collectives of its own, latency included.
struct Interference {
  double of_kernels = 0.0;
  double of_collectives = 0.0;

  bool any() const { return of_kernels != 0.0 || of_collectives != 0.0; }
};

// A collective class: every post of the class has the same channel, kind, bytes and cost.
struct TimedCollective {
  ChannelNumber channel = 0;
  CollectiveKind kind = CollectiveKind::all_reduce;
  CollectiveCost cost;
  Seconds uncontended;  // with only the sibling groups of its own axis on the links
  // What the library chose, to be told: the cost has what follows from it.
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  WireProtocol protocol = WireProtocol::simple;
  Interference lost = {};  // see interference_charge
};

// choose: the stage decides which turn of its ready-queue comes next.
enum class StepKind : std::uint8_t { compute, post, wait, choose };

// At what rate its bytes move while nothing else does; zero if it has none.
inline BytesPerSecond rate_alone(const TimedCollective& collective) {
  if (collective.cost.work.value <= 0.0) return {};
  return collective.cost.work / (collective.uncontended - collective.cost.delay);
}

// One step of the issue stream. Channels are FIFO, so a wait names its collective as "the back-th
// most recent post on the channel" (0 = the most recent): the same in every repetition of a loop
// body.
struct TimedStep {
  StepKind kind = StepKind::compute;
  ChannelNumber channel = 0;     // post, wait
  std::int32_t collective = -1;  // post: index into TimedProgram::collectives
  std::int32_t back = 0;         // wait: 0 and more, or oldest_post
  // compute: all kernels up to the next post or wait, on the slowest device of the job; wait: by
  // which the collective is done later than by this device's own clock, as the last of its members
  // comes so much later on average.
  Seconds duration;
};

// How a step's seconds vary: of compute alone.
struct StepVariation {
  Seconds beyond_median;  // of its duration, as the slowest device takes longer than the median one
  Seconds deviation;      // what a device takes longer for each deviation that it is slower
  Seconds repetition;     // standard deviation over repetitions on one device
};

// steps[first, last) done `repeats` times in a row: a loop over layers.
struct StepRun {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int64_t repeats = 1;
};

// runs[first, last) done `repeats` times in a row: a loop over micro-batches.
struct RunCycle {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int64_t repeats = 1;
};

// cycles[first, last): what the devices of one stage do.
struct StageCycles {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

// Messages that arrive within this part of the time gone by arrive together: rungs that round
// differently must choose alike.
inline constexpr double simultaneous = 1e-10;

// The cycles [first, last) of a stage as the turns that it chooses among (ReadyTurns): what has
// arrived is done. The cycles' own sequence is one of those that may come.
struct TimedQueue {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int64_t limit = 0;  // 0: there is no queue, and the cycles are done as they stand
  std::int64_t micro_batches = 0;
  // Each repetition is one turn; in the order of micro-batches.
  std::vector<RunCycle> forwards, backwards;
  ChannelNumber forward = -1, backward = -1;  // of the messages they wait for, if any

  // The channel of the message that a turn of a part begins with; -1: it needs none.
  ChannelNumber message_of(StepPart part) const {
    return part == StepPart::forward ? forward : backward;
  }
  // The runs of a part's turn for a micro-batch, once.
  RunCycle turn(StepPart part, std::int64_t micro_batch) const {
    const std::vector<RunCycle>& turns = part == StepPart::forward ? forwards : backwards;
    std::size_t i = 0;
    for (; micro_batch >= turns.at(i).repeats; ++i) micro_batch -= turns[i].repeats;
    return {turns[i].first, turns[i].last, 1};
  }
};

// What collectives of a channel take of what their device shares with its other channels.
struct ChannelLoad {
  // Of each shared resource, by its number, the part that a byte/s on the channel takes while all
  // groups like it do the same: links of a node, NICs, links of the network, measured plateaus.
  std::vector<LinkShare> shares;
  // What was measured of such groups holds for all of the channel's plateau together: all rings
  // over nodes have one, and those of each axis inside a node.
  BytesPerSecond plateau;
  bool across = false;  // nodes
};

// Unrolled order of a stage: for each of its cycles, `repeats` times: for each of its runs,
// `repeats` times: its steps. Stages meet on the channels along pipe.
struct TimedProgram {
  std::vector<Channel> channels;  // in order
  std::vector<TimedStep> steps;
  std::vector<StepRun> runs;
  std::vector<RunCycle> cycles;
  std::vector<StageCycles> stages;  // one after the other; none: one stage has all cycles
  std::vector<TimedQueue> queues;   // by stage; none: every stage's order is fixed
  std::vector<TimedCollective> collectives;
  // By channel, of one stage after the other, or of all of them alike; none: nothing is shared.
  std::vector<ChannelLoad> loads;
  std::vector<StepVariation> variations;  // by step; none: kernels take as long everywhere, always
  std::int32_t max_back = 0;              // the largest `back` of any wait
  Seconds longest_waiting;                // the largest duration of any wait

  // By channel.
  std::span<const ChannelLoad> loads_of(std::size_t stage) const {
    const std::size_t first = stage * channels.size();
    return std::span(loads).subspan(first < loads.size() ? first : 0,
                                    std::min(channels.size(), loads.size()));
  }
  std::vector<StageCycles> by_stage() const {
    if (!stages.empty()) return stages;
    return {{0, static_cast<std::int32_t>(cycles.size())}};
  }
};

// What devices wait for each other on average, in all of a step; means over the stages.
struct ExpectedWaiting {
  Seconds for_slowest;               // all others, for the job's slowest device: part of compute
  std::vector<Seconds> of_channels;  // for the last of a group's members, at each wait
  // Of all compute: what a device takes longer for each deviation that it is slower, and the
  // standard deviation over repetitions.
  Seconds deviation, repetition;
  Seconds for_last() const {
    Seconds sum;
    for (Seconds channel : of_channels) sum += channel;
    return sum;
  }
};

// Calls `visit` with every run of a cycle, in unrolled order.
template <typename Visit>
void each_run(const TimedProgram& program, const RunCycle& cycle, const Visit& visit) {
  for (std::int64_t i = 0; i < cycle.repeats; ++i) {
    for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
      const StepRun& run = program.runs[static_cast<std::size_t>(r)];
      for (std::int64_t k = 0; k < run.repeats; ++k) visit(run);
    }
  }
}

// What a collective that is waited for, and the compute that ran beside it, lost to each other.
struct InterferenceCharge {
  Seconds compute;  // more of it, done before the wait
  Seconds late;     // by which the collective is done later
};

// A collective of uncontended duration d that was posted c seconds of compute before its wait. Had
// the two begun together, both would have run for t = min(d / (1 - b), c / (1 - a)): compute loses
// a t of it, the collective b t. Static given the schedule, hence equal in both rungs, and monotone
// in every duration. Neglected, so that it is: what queues behind a collective that was slowed, and
// kernels beside which two collectives run, which are slowed but once
// (tests/sim/interference_test.cpp compares with rates that change while both run).
constexpr InterferenceCharge interference_charge(const Interference& lost, Seconds uncontended,
                                                 Seconds compute_beside) {
  const double by_collective = uncontended.value / (1.0 - lost.of_collectives);
  const double by_compute = compute_beside.value / (1.0 - lost.of_kernels);
  const double together = by_collective < by_compute ? by_collective : by_compute;
  return {Seconds{lost.of_kernels * together}, Seconds{lost.of_collectives * together}};
}

// Compute beside a collective beyond which no more of it makes a difference, and the charge then.
constexpr Seconds most_beside(const Interference& lost, Seconds uncontended) {
  return uncontended * ((1.0 - lost.of_kernels) / (1.0 - lost.of_collectives));
}
constexpr Seconds most_late(const Interference& lost, Seconds uncontended) {
  return uncontended * (lost.of_collectives / (1.0 - lost.of_collectives));
}

}  // namespace fourfold::inline sim::inline cost
