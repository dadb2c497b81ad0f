// What a collective costs its group: the exact hop and byte counts of its rounds, turned into time
// by the constants of the collective library. Once per collective class, when a step is lowered.
#pragma once

#include "platforms/platform.hpp"
#include "schedule/collectives/collective.hpp"
#include "sim/cost/collective_tuning.hpp"
#include "sim/cost/timed_program.hpp"

namespace fourfold::inline sim::inline cost {

const char* name(WireProtocol protocol);

struct CollectiveChoice {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  WireProtocol protocol = WireProtocol::simple;
  CollectiveCost cost;
  Seconds uncontended;
  // The same with kernels running beside it all the while. They slow the copies inside nodes, not
  // the NICs and not latency: a ring over nodes loses only what makes its copies slower than its
  // bytes are by themselves. So faster NICs never make the same algorithm and protocol slower.
  Seconds beside_kernels;
};

// The fastest of ring and tree (all-reduce over several nodes only), low latency and simple, as the
// library's own tuning would pick it; pairwise where nothing goes around. Links give the busiest
// member of the group `link_rate` bytes/s. `buffer` is counted as nccl-tests counts it: what an
// all-gather puts out in one member, what a reduce-scatter takes in, what others work on. A group
// of one costs nothing: all zero. Never faster for more bytes, less link rate, or more nodes with
// equally many members each. Throws std::invalid_argument: negative buffer, link rate not above
// zero, impossible shape, or a library without a plateau for this kind of group.
CollectiveChoice choose_collective(const CollectiveLibrary& library, CollectiveKind kind,
                                   Bytes buffer, GroupShape shape, BytesPerSecond link_rate);

// What a group is to do.
struct CollectiveTask {
  CollectiveKind kind = CollectiveKind::all_gather;
  Bytes buffer;
  GroupShape shape;
  BytesPerSecond link_rate;
  std::int64_t devices = 0;  // of the job, in the group's node: all of them do the same
  double skew = 1.0;         // of unequal parts: the largest over the mean
};

// By this algorithm, in the faster protocol; a recursive all-reduce is the faster of halving and
// doubling and of doubling whole buffers. Throws besides with the sentence of `misfit` if the group
// cannot do that.
CollectiveChoice forced_collective(const CollectiveLibrary& library, CollectiveAlgorithm algorithm,
                                   const CollectiveTask& task);

// As the tuning says, else as it was measured on as many members and devices, else as the library
// would.
CollectiveChoice choose_collective(const CollectiveLibrary& library, const CollectiveTask& task,
                                   const CollectiveTuning& tuning);

// What the collective and kernels beside it lose to each other.
Interference interference_of(const Platform& platform, const CollectiveChoice& choice);

// delay + work / min(rate_cap, link_rate).
Seconds uncontended(const CollectiveCost& cost, BytesPerSecond link_rate);

}  // namespace fourfold::inline sim::inline cost
