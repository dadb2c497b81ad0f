// Plateaus, delays and rates of every form; see protocol_forms.hpp.
#include "sim/cost/protocol_forms.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

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
  if (!library.across_at_once.empty()) {
    return std::min(alone, interpolated(library.across_at_once, devices));
  }
  const auto all = static_cast<double>(library.sharing_a_node);
  return std::min(alone, interpolated(library.across, all) * std::min(1.0, devices / all));
}

Seconds hops(const CollectiveCounts& counts, const Protocol& protocol) {
  return protocol.hop_across * static_cast<double>(counts.hops_across) +
         protocol.hop_in_node * static_cast<double>(counts.hops_in_node);
}

}  // namespace

Interference interference_of(const Platform& platform, GroupShape shape) {
  const CollectiveLibrary& library = platform.library;
  const double of_kernels = platform.processor.interference;
  if (shape.members == 1) return {};
  if (shape.nodes == 1) return {of_kernels, library.interference};
  const std::int64_t in_each = shape.members / shape.nodes;
  if (in_each <= 1) return {of_kernels, 0.0};
  const BytesPerSecond copies =
      plateau_in_node(library, in_each, shape.stride) * (1.0 - library.interference);
  return {of_kernels, std::max(0.0, 1.0 - copies / plateau_across(library, shape))};
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

// The delay is what latency adds to the bandwidth term at the uncontended rate.
CollectiveChoice CollectiveForms::ring_simple(const CollectiveCounts& ring, Bytes payload) const {
  const Protocol& protocol = library_.simple;
  const BytesPerSecond cap = plateau_ * fraction(protocol);
  const Seconds stream = payload / std::min(cap, link_rate_);
  const Seconds both = overlapped(hops(ring, protocol), stream, library_.overlap_exponent);
  return finished(CollectiveAlgorithm::ring, WireProtocol::simple,
                  {base_ * protocol.ring_base_factor + (both - stream), payload, cap});
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
  const Seconds stream = work.across / std::min(work.cap, link_rate_);
  const Seconds both =
      overlapped(hops(counts, library_.simple), work.in_node + stream, library_.overlap_exponent);
  return finished(CollectiveAlgorithm::hierarchical, wire,
                  {base_ + (both - stream), work.across, work.cap});
}

CollectiveChoice CollectiveForms::pairwise(CollectiveAlgorithm algorithm,
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

double CollectiveForms::fraction(const Protocol& protocol) const {
  if (!across_) return protocol.bandwidth_fraction_in_node;
  if (protocol.bandwidth_exponent_across == 1.0) return protocol.bandwidth_fraction_across;
  const double share = plateau_ / library_.across.back().bus_bandwidth;
  return std::min(1.0, protocol.bandwidth_fraction_across *
                           std::pow(share, protocol.bandwidth_exponent_across - 1.0));
}

CollectiveChoice CollectiveForms::finished(CollectiveAlgorithm algorithm, WireProtocol protocol,
                                           CollectiveCost cost) const {
  return {algorithm, protocol, cost, fourfold::uncontended(cost, link_rate_)};
}

}  // namespace fourfold
