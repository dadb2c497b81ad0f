// Time of one collective by each algorithm and wire protocol, from the constants of the library.
//
// N nodes of g members, n = N g, k passes (2 of an all-reduce, 1 of others), S bytes of the whole
// buffer, B = min(plateau, link rate); a, i: seconds per
// hop across and inside nodes of the protocol; f, t: its fractions of the plateau in a ring and in
// a tree, f growing where few devices of a node take part; c a: a hop of a tree across; q:
// how far latency and bandwidth overlap (1: they add up); base: what any collective takes; r: how a
// ring's base differs:
//   ring, low latency  r base + k ((N-1) a + (n-N) i) + k (n-1)/n S / (f B)
//   ring, simple       r base + ((k ((N-1) a + (n-N) i))^q + (k (n-1)/n S / B)^q)^(1/q)
//   tree               base + 2 ceil(log2 N) c a + 2 (n/N - 1) i_low_latency + 2 S / (t B)
// Where links carry less than the plateau, their rate binds instead of f B (`uncontended`).
// Forms found on NCCL on Perlmutter; the hop and byte counts are those of schedule/.
//
// Nobody measured the others, which the libraries do not choose by themselves. They work in stages,
// in node and across, one after the other. W = k (g-1)/g S bytes a member in node, at the plateau P
// of a node's own ring, and V = k (N-1)/N S bytes a node across, at C = min(g plateau of one device
// a node, plateau of g), or at what the links give:
//   hierarchical, low latency  base + k ((N-1) a + (g-1) i) + W / (f P) + V / (f C)
//   hierarchical, simple       base + ((k ((N-1) a + (g-1) i))^q + (W / P + V / C)^q)^(1/q)
//   recursive                  base + k (log2 N c a + log2 g i) + W / (f P) + V / (f C)
//   recursive doubling         base + log2 N c a + log2 g i + log2 g S / (f P) + g log2 N S / (f C)
// An exchange waits for the one before it, so that latency and bandwidth of recursive ones add up;
// so a broadcast's, with log2 n sends of the first member.
//
// Pairs and neighbours send in node and across side by side. A member sends W bytes, of which its
// node puts w across and its busiest member u, so that it can send at R = min(C W / w,
// P W / (W - u)), as C and P have it:
//   pairwise, low latency      base + hops + W / (f R)
//   pairwise, simple           base + (hops^q + (W / R)^q)^(1/q)
//   hierarchical               the same with R = C W / w, after the stage in node at f P
// where hops are the rounds of one member, across or in node (schedule/collectives/counts.hpp).
#pragma once

#include "schedule/collectives/counts.hpp"
#include "sim/cost/protocol.hpp"

namespace fourfold::inline sim::inline cost {

// What all collectives of such a group together move at most, as the library's measurements have
// it: over nodes the part of a whole node's rings that is the group's.
BytesPerSecond plateau(const CollectiveLibrary& library, GroupShape shape);

// The forms of one group, sharing what they have in common.
class CollectiveForms {
 public:
  // The library must outlive this.
  CollectiveForms(const CollectiveLibrary& library, GroupShape shape, BytesPerSecond link_rate);

  // `payload`: bytes that every member sends.
  CollectiveChoice ring_low_latency(const CollectiveCounts& ring, Bytes payload) const;
  CollectiveChoice ring_simple(const CollectiveCounts& ring, Bytes payload) const;
  CollectiveChoice tree(const CollectiveCounts& tree, Bytes buffer, WireProtocol wire) const;
  CollectiveChoice hierarchical(const CollectiveCounts& counts, Bytes buffer,
                                WireProtocol wire) const;
  // Recursive halving and doubling, or doubling of whole buffers, as `algorithm` says.
  CollectiveChoice recursive(CollectiveAlgorithm algorithm, const CollectiveCounts& counts,
                             Bytes buffer, WireProtocol wire) const;
  // Pairs or neighbours, pairwise or hierarchical; `payload`: bytes that the busiest member sends.
  CollectiveChoice exchange(CollectiveAlgorithm algorithm, const CollectiveCounts& counts,
                            Bytes payload, WireProtocol wire) const;
  // A ring over nodes of which the whole time was measured.
  CollectiveChoice measured(Bytes payload, Seconds whole) const;

 private:
  // Bytes of the stages with flags, and what the protocol makes of the plateaus.
  struct Stages {
    Seconds in_node;
    Bytes across;  // a node; in one node, in a member
    BytesPerSecond cap;
  };
  Stages stages(const CollectiveCounts& counts, Bytes buffer, WireProtocol wire) const;
  double fraction(const Protocol& protocol) const;
  BytesPerSecond by_copies(BytesPerSecond cap, WireProtocol wire, double left) const;
  CollectiveChoice finished(CollectiveAlgorithm algorithm, WireProtocol protocol,
                            CollectiveCost cost) const;
  // A stream of chunks at up to `cap` bytes/s, whose latency overlaps with it.
  struct Flow {
    Seconds base, in_node, hops;
    Bytes bytes;
    BytesPerSecond cap;
  };
  CollectiveChoice overlapping(CollectiveAlgorithm algorithm, const Flow& flow) const;

  const CollectiveLibrary& library_;
  GroupShape shape_;
  bool across_;
  BytesPerSecond link_rate_;
  BytesPerSecond plateau_;
  Seconds base_;
};

}  // namespace fourfold::inline sim::inline cost
