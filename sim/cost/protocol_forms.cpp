// Plateaus, delays and rates of every form; see protocol_forms.hpp.
#include "sim/cost/protocol_forms.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace fourfold::inline sim::inline cost {
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
BytesPerSecond plateau_in_node(const CollectiveLibrary& library, std::int64_t members,
                               std::int64_t stride) {
  for (const StridedPlateau& plateau : library.in_node_by_stride) {
    if (plateau.stride == stride && plateau.devices == members) return plateau.bus_bandwidth;
  }
  return interpolated(library.in_node, static_cast<double>(members));
}

BytesPerSecond plateau_across(const CollectiveLibrary& library, GroupShape shape) {
  const double devices = static_cast<double>(shape.members) / static_cast<double>(shape.nodes);
  const BytesPerSecond alone = interpolated(library.across, devices);
  if (library.sharing_a_node == 0) return alone;
  const auto all = static_cast<double>(library.sharing_a_node);
  if (!library.across_at_once.empty()) {
    const BytesPerSecond crowded = std::min(alone, interpolated(library.across_at_once, devices));
    // Measured with all devices of a node; fewer hinder each other in proportion.
    const double full = library.across_at_once.back().devices;
    if (full <= devices || full <= all) return crowded;
    const double crowd = std::clamp((all - devices) / (full - devices), 0.0, 1.0);
    return {1.0 / ((1.0 - crowd) / alone.value + crowd / crowded.value)};
  }
  return std::min(alone, interpolated(library.across, all) * std::min(1.0, devices / all));
}

Seconds hops(const CollectiveCounts& counts, const Protocol& protocol) {
  return protocol.hop_across * static_cast<double>(counts.hops_across) +
         protocol.hop_in_node * static_cast<double>(counts.hops_in_node);
}

}  // namespace

BytesPerSecond plateau(const CollectiveLibrary& library, GroupShape shape) {
  if (shape.nodes > 1) return plateau_across(library, shape);
  return plateau_in_node(library, shape.members, shape.stride);
}

Interference interference_of(const Platform& platform, const CollectiveChoice& choice) {
  if (!(choice.beside_kernels > choice.uncontended)) return {platform.processor.interference, 0.0};
  return {platform.processor.interference, 1.0 - choice.uncontended / choice.beside_kernels};
}

CollectiveForms::CollectiveForms(const CollectiveLibrary& library, GroupShape shape,
                                 BytesPerSecond link_rate)
    : library_(library),
      shape_(shape),
      across_(shape.nodes > 1),
      link_rate_(link_rate),
      plateau_(across_ ? plateau_across(library, shape)
                       : plateau_in_node(library, shape.members, shape.stride)),
      base_(across_ ? library.base_across : library.base_in_node) {}

CollectiveChoice CollectiveForms::ring_low_latency(const CollectiveCounts& ring,
                                                   Bytes payload) const {
  const Protocol& protocol = library_.low_latency;
  return finished(CollectiveAlgorithm::ring, WireProtocol::low_latency,
                  {base_ * protocol.ring_base_factor + hops(ring, protocol),
                   payload * low_latency_wire, plateau_ * (fraction(protocol) * low_latency_wire)});
}

CollectiveChoice CollectiveForms::ring_simple(const CollectiveCounts& ring, Bytes payload) const {
  const Protocol& protocol = library_.simple;
  return overlapping(CollectiveAlgorithm::ring, {base_ * protocol.ring_base_factor,
                                                 {},
                                                 hops(ring, protocol),
                                                 payload,
                                                 plateau_ * fraction(protocol)});
}

// Inside nodes a tree's chunks pass on at the low-latency pace in either protocol.
CollectiveChoice CollectiveForms::tree(const CollectiveCounts& tree, Bytes buffer,
                                       WireProtocol wire) const {
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

CollectiveForms::Stages CollectiveForms::stages(const CollectiveCounts& counts, Bytes buffer,
                                                WireProtocol wire) const {
  const bool flagged = wire == WireProtocol::low_latency;
  const Protocol& protocol = flagged ? library_.low_latency : library_.simple;
  const double load = flagged ? low_latency_wire : 1.0;
  const auto bytes = [&](std::int64_t chunks) {
    return buffer * (static_cast<double>(chunks) / static_cast<double>(counts.chunks));
  };
  if (!across_) {
    return {{}, bytes(counts.sent_by_member) * load, plateau_ * (fraction(protocol) * load)};
  }
  const std::int64_t per_node = shape_.members / shape_.nodes;
  const BytesPerSecond alone = interpolated(library_.across, 1.0) * static_cast<double>(per_node);
  Stages result{{},
                bytes(counts.sent_by_node) * load,
                std::min(alone, plateau_) * (fraction(protocol) * load)};
  if (per_node > 1) {
    const BytesPerSecond inside = plateau_in_node(library_, per_node, shape_.stride);
    result.in_node = bytes(counts.sent_by_member - counts.sent_across_by_member) /
                     (inside * protocol.bandwidth_fraction_in_node);
  }
  return result;
}

CollectiveChoice CollectiveForms::hierarchical(const CollectiveCounts& counts, Bytes buffer,
                                               WireProtocol wire) const {
  const Stages work = stages(counts, buffer, wire);
  if (wire == WireProtocol::low_latency) {
    return finished(
        CollectiveAlgorithm::hierarchical, wire,
        {base_ + hops(counts, library_.low_latency) + work.in_node, work.across, work.cap});
  }
  return overlapping(CollectiveAlgorithm::hierarchical,
                     {base_, work.in_node, hops(counts, library_.simple), work.across, work.cap});
}

CollectiveChoice CollectiveForms::exchange(CollectiveAlgorithm algorithm,
                                           const CollectiveCounts& counts, Bytes payload,
                                           WireProtocol wire) const {
  const bool flagged = wire == WireProtocol::low_latency;
  const Protocol& protocol = flagged ? library_.low_latency : library_.simple;
  const std::int64_t per_node = shape_.members / shape_.nodes;
  // In chunks; what is sent by way of others counts as sent once.
  const bool by_node = algorithm == CollectiveAlgorithm::hierarchical;
  const auto sent = static_cast<double>(by_node ? counts.chunks - 1 : counts.sent_by_member);
  const auto inside = static_cast<double>(counts.sent_by_member - counts.sent_across_by_member);
  BytesPerSecond cap = plateau_ * fraction(protocol);
  Seconds in_node;
  if (across_) {
    const BytesPerSecond alone = interpolated(library_.across, 1.0) * static_cast<double>(per_node);
    cap = std::min(alone, plateau_) *
          (fraction(protocol) * sent / static_cast<double>(counts.sent_by_node));
    if (inside > 0.0 && per_node > 1) {
      const BytesPerSecond node =
          plateau_in_node(library_, per_node, shape_.stride) * protocol.bandwidth_fraction_in_node;
      if (by_node) {
        in_node = payload * (inside / sent) / node;
      } else {
        cap = std::min(cap, node * (sent / inside));
      }
    }
  }
  if (flagged) {
    return finished(algorithm, wire,
                    {base_ + hops(counts, protocol) + in_node, payload * low_latency_wire,
                     cap * low_latency_wire});
  }
  return overlapping(algorithm, {base_, in_node, hops(counts, protocol), payload, cap});
}

CollectiveChoice CollectiveForms::recursive(CollectiveAlgorithm algorithm,
                                            const CollectiveCounts& counts, Bytes buffer,
                                            WireProtocol wire) const {
  const Protocol& protocol =
      wire == WireProtocol::low_latency ? library_.low_latency : library_.simple;
  const Stages work = stages(counts, buffer, wire);
  const Seconds latency =
      protocol.hop_across * (protocol.tree_hop_factor * static_cast<double>(counts.hops_across)) +
      protocol.hop_in_node * static_cast<double>(counts.hops_in_node);
  return finished(algorithm, wire, {base_ + latency + work.in_node, work.across, work.cap});
}

// What its bytes need at the plateau is bandwidth, the rest latency; faster than that is all
// bandwidth.
CollectiveChoice CollectiveForms::measured(Bytes payload, Seconds whole) const {
  const Seconds stream = std::min(payload / plateau_, whole);
  return finished(CollectiveAlgorithm::ring, WireProtocol::simple,
                  {whole - stream, payload, payload / stream});
}

// The delay is what latency adds to the bandwidth term at the uncontended rate.
CollectiveChoice CollectiveForms::overlapping(CollectiveAlgorithm algorithm,
                                              const Flow& flow) const {
  const auto both = [&](Seconds stream) {
    return overlapped(flow.hops, flow.in_node + stream, library_.overlap_exponent);
  };
  const Seconds stream = flow.bytes / std::min(flow.cap, link_rate_);
  CollectiveChoice choice = finished(algorithm, WireProtocol::simple,
                                     {flow.base + (both(stream) - stream), flow.bytes, flow.cap});
  const BytesPerSecond slowed =
      by_copies(flow.cap, WireProtocol::simple, 1.0 - library_.interference);
  choice.beside_kernels = flow.base + both(flow.bytes / std::min(slowed, link_rate_));
  return choice;
}

double CollectiveForms::fraction(const Protocol& protocol) const {
  if (!across_) return protocol.bandwidth_fraction_in_node;
  if (protocol.bandwidth_exponent_across == 1.0) return protocol.bandwidth_fraction_across;
  const double share = plateau_ / library_.across.back().bus_bandwidth;
  return std::min(1.0, protocol.bandwidth_fraction_across *
                           std::pow(share, protocol.bandwidth_exponent_across - 1.0));
}

// No ring over nodes is faster than the copies of its members in a node, of which kernels beside it
// leave `left`.
BytesPerSecond CollectiveForms::by_copies(BytesPerSecond cap, WireProtocol wire,
                                          double left) const {
  if (!across_) return cap * left;
  const std::int64_t per_node = shape_.members / shape_.nodes;
  if (per_node <= 1) return cap;
  const bool flagged = wire == WireProtocol::low_latency;
  const Protocol& protocol = flagged ? library_.low_latency : library_.simple;
  return std::min(
      cap, plateau_in_node(library_, per_node, shape_.stride) *
               (left * protocol.bandwidth_fraction_in_node * (flagged ? low_latency_wire : 1.0)));
}

CollectiveChoice CollectiveForms::finished(CollectiveAlgorithm algorithm, WireProtocol protocol,
                                           CollectiveCost cost) const {
  // Simple's plateau over nodes was measured, and is what its copies reach.
  if (protocol == WireProtocol::low_latency) {
    cost.rate_cap = by_copies(cost.rate_cap, protocol, 1.0);
  }
  const CollectiveCost slowed{cost.delay, cost.work,
                              by_copies(cost.rate_cap, protocol, 1.0 - library_.interference)};
  return {algorithm, protocol, cost, uncontended(cost, link_rate_),
          uncontended(slowed, link_rate_)};
}

}  // namespace fourfold::inline sim::inline cost
