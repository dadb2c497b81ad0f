// Latency-bandwidth forms of ring and tree collectives per wire protocol; see protocol.hpp.
//
// N nodes, n members, k passes, S bytes, B = min(plateau, link rate); a, i: seconds per hop across
// and inside nodes:
//   ring, low latency  base + k ((N-1) a + (n-N) i) + k (n-1)/n S / (f B)
//   ring, simple       base + ((k ((N-1) a + (n-N) i))^q + (k (n-1)/n S / B)^q)^(1/q)
//   tree               base + 2 ceil(log2 N) c a + 2 (n/N - 1) i_low_latency + 2 S / (t B)
// Forms found on NCCL on Perlmutter, 1-8 nodes; the hop and byte counts are those of schedule/.
#include "sim/protocol.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace fourfold {
namespace {

// Bytes on the wire per byte of payload: 8-byte words of 4 bytes data and 4 bytes flag.
constexpr double low_latency_wire = 2.0;

// Linear between entries, constant beyond them.
BytesPerSecond interpolated(const std::vector<Plateau>& plateaus, double devices) {
  if (plateaus.empty()) {
    throw std::invalid_argument(
        "collective library: no bandwidth plateau for this kind of group; the platform file must "
        "give at least one across nodes and one inside a node");
  }
  const Plateau* below = &plateaus.front();
  if (devices <= below->devices) return below->bus_bandwidth;
  for (const Plateau& above : plateaus) {
    if (devices <= above.devices) {
      const double share = (devices - below->devices) / (above.devices - below->devices);
      return below->bus_bandwidth + (above.bus_bandwidth - below->bus_bandwidth) * share;
    }
    below = &above;
  }
  return below->bus_bandwidth;
}

// (a^q + b^q)^(1/q): between the longer of two overlapping times (q large) and their sum (q = 1).
Seconds overlapped(Seconds a, Seconds b, double q) {
  const Seconds longer = std::max(a, b);
  const Seconds shorter = std::min(a, b);
  if (shorter.value <= 0.0) return longer;
  return longer * std::pow(1.0 + std::pow(shorter / longer, q), 1.0 / q);
}

// Inside a node that is not symmetric, the pairs of devices a stride selects decide.
BytesPerSecond plateau_in_node(const CollectiveLibrary& library, GroupShape shape) {
  for (const StridedPlateau& plateau : library.in_node_by_stride) {
    if (plateau.stride == shape.stride && plateau.devices == shape.members) {
      return plateau.bus_bandwidth;
    }
  }
  return interpolated(library.in_node, static_cast<double>(shape.members));
}

BytesPerSecond plateau_across(const CollectiveLibrary& library, GroupShape shape) {
  return interpolated(library.across,
                      static_cast<double>(shape.members) / static_cast<double>(shape.nodes));
}

void require_sound(Bytes buffer, BytesPerSecond link_rate) {
  if (!(buffer.value >= 0.0)) {
    throw std::invalid_argument("collective: a buffer of " + std::to_string(buffer.value) +
                                " bytes; it must not be negative");
  }
  if (!(link_rate.value > 0.0)) {
    throw std::invalid_argument("collective: links that give " + std::to_string(link_rate.value) +
                                " bytes per second; it must be more than zero");
  }
}

// The forms of one group, sharing what they have in common.
class Forms {
 public:
  Forms(const CollectiveLibrary& library, GroupShape shape, BytesPerSecond link_rate)
      : library_(library),
        across_(shape.nodes > 1),
        link_rate_(link_rate),
        plateau_(across_ ? plateau_across(library, shape) : plateau_in_node(library, shape)),
        base_(across_ ? library.base_across : library.base_in_node) {}

  CollectiveChoice ring_low_latency(const CollectiveCounts& ring, Bytes payload) const {
    const Protocol& protocol = library_.low_latency;
    return finished(CollectiveAlgorithm::ring, WireProtocol::low_latency,
                    {base_ + hops(ring, protocol), payload * low_latency_wire,
                     plateau_ * (fraction(protocol) * low_latency_wire)});
  }

  // The delay is what latency adds to the bandwidth term at the uncontended rate.
  CollectiveChoice ring_simple(const CollectiveCounts& ring, Bytes payload) const {
    const Protocol& protocol = library_.simple;
    const BytesPerSecond cap = plateau_ * fraction(protocol);
    const Seconds stream = payload / std::min(cap, link_rate_);
    const Seconds both = overlapped(hops(ring, protocol), stream, library_.overlap_exponent);
    return finished(CollectiveAlgorithm::ring, WireProtocol::simple,
                    {base_ + (both - stream), payload, cap});
  }

  // Inside nodes a tree's chunks pass on at the low-latency pace in either protocol.
  CollectiveChoice tree(const CollectiveCounts& tree, Bytes buffer, WireProtocol wire) const {
    const bool flagged = wire == WireProtocol::low_latency;
    const Protocol& protocol = flagged ? library_.low_latency : library_.simple;
    const Seconds latency =
        protocol.hop_across * (protocol.tree_hop_factor * static_cast<double>(tree.hops_across)) +
        library_.low_latency.hop_in_node * static_cast<double>(tree.hops_in_node);
    // A simple tree's shortfall is uneven load: it holds on slower links too.
    const double load = flagged ? low_latency_wire : 1.0 / protocol.tree_bandwidth_fraction;
    return finished(CollectiveAlgorithm::tree, wire,
                    {base_ + latency, buffer * (2.0 * load),
                     plateau_ * (protocol.tree_bandwidth_fraction * load)});
  }

 private:
  double fraction(const Protocol& protocol) const {
    return across_ ? protocol.bandwidth_fraction_across : protocol.bandwidth_fraction_in_node;
  }

  static Seconds hops(const CollectiveCounts& counts, const Protocol& protocol) {
    return protocol.hop_across * static_cast<double>(counts.hops_across) +
           protocol.hop_in_node * static_cast<double>(counts.hops_in_node);
  }

  CollectiveChoice finished(CollectiveAlgorithm algorithm, WireProtocol protocol,
                            CollectiveCost cost) const {
    return {algorithm, protocol, cost, fourfold::uncontended(cost, link_rate_)};
  }

  const CollectiveLibrary& library_;
  bool across_;
  BytesPerSecond link_rate_;
  BytesPerSecond plateau_;
  Seconds base_;
};

}  // namespace

const char* name(WireProtocol protocol) {
  return protocol == WireProtocol::low_latency ? "low latency" : "simple";
}

Seconds uncontended(const CollectiveCost& cost, BytesPerSecond link_rate) {
  if (cost.work.value <= 0.0) return cost.delay;
  return cost.delay + cost.work / std::min(cost.rate_cap, link_rate);
}

CollectiveChoice choose_collective(const CollectiveLibrary& library, CollectiveKind kind,
                                   Bytes buffer, GroupShape shape, BytesPerSecond link_rate) {
  require_sound(buffer, link_rate);
  const CollectiveCounts ring = counts(kind, CollectiveAlgorithm::ring, shape);
  if (shape.members == 1) return {};

  // Every member of a ring sends one chunk a round.
  const Bytes payload = buffer * (static_cast<double>(ring.hops_across + ring.hops_in_node) /
                                  static_cast<double>(ring.chunks));
  const Forms forms(library, shape, link_rate);
  CollectiveChoice best = forms.ring_low_latency(ring, payload);
  const auto consider = [&best](const CollectiveChoice& other) {
    if (other.uncontended < best.uncontended) best = other;
  };
  consider(forms.ring_simple(ring, payload));
  if (kind == CollectiveKind::all_reduce && shape.nodes > 1) {
    const CollectiveCounts tree = counts(kind, CollectiveAlgorithm::tree, shape);
    consider(forms.tree(tree, buffer, WireProtocol::low_latency));
    consider(forms.tree(tree, buffer, WireProtocol::simple));
  }
  return best;
}

CollectiveCost collective_cost(const CollectiveLibrary& library, CollectiveKind kind, Bytes buffer,
                               GroupShape shape, BytesPerSecond link_rate) {
  return choose_collective(library, kind, buffer, shape, link_rate).cost;
}

}  // namespace fourfold
