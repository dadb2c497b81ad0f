// A ring is one flow unless it may be held up at several places; then its edges are flows of their
// own.
#include "sim/replay/load.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "platforms/network/pair_loads.hpp"
#include "sim/replay/strands.hpp"

namespace fourfold::inline sim::inline replay {

std::vector<std::int64_t> members_of(std::int32_t communicator, const Communicators& communicators,
                                     const Mapping& mapping) {
  const ChannelNumber channel = communicators.channel(communicator);
  std::vector<std::int64_t> members;
  for (std::int32_t i = 0; i < communicators.members(channel); ++i) {
    members.push_back(mapping.devices[communicators.first_member(communicator) +
                                      std::int64_t{i} * communicators.distance(channel)]);
  }
  return members;
}

namespace {

bool held_up_alike(const Incidence& edges, std::int32_t a, std::int32_t b, double cap) {
  const auto links = [](const LinkShare& x, const LinkShare& y) { return x.link == y.link; };
  if (!std::ranges::equal(edges.links_of(a), edges.links_of(b), links)) return false;
  // Without links that decide, the slower one's end is the end of both.
  return edges.links_of(a).empty() ||
         std::min(cap, edges.lone_rate(a)) == std::min(cap, edges.lone_rate(b));
}

// Edges of one ring that share all links that decide a rate get the same rate at all times: they
// are merged into one part. `edges` says what decides and knows `loads` as its flows.
std::vector<Footprint> merged(std::span<Footprint> loads, std::int32_t first,
                              const Incidence& edges, double cap) {
  std::vector<std::int32_t> order(loads.size());
  std::iota(order.begin(), order.end(), first);
  const auto link_of = [](const LinkShare& entry) { return entry.link; };
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return std::ranges::lexicographical_compare(edges.links_of(a), edges.links_of(b), {}, link_of,
                                                link_of);
  });
  std::vector<Footprint> parts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    Footprint& load = loads[order[i] - first];
    if (i > 0 && held_up_alike(edges, order[i - 1], order[i], cap)) {
      parts.back().insert(parts.back().end(), load.begin(), load.end());
    } else {
      parts.push_back(std::move(load));
    }
  }
  for (Footprint& part : parts) merge(part);
  return parts;
}

Motion motion_of(ChannelNumber channel, const ChannelWork& work) {
  return work.motions.empty() ? Motion::around : work.motions[static_cast<std::size_t>(channel)];
}

Footprint footprint_of(std::int32_t communicator, const Communicators& communicators,
                       const Ground& ground, Motion motion) {
  const ChannelNumber channel = communicators.channel(communicator);
  const std::vector<std::int64_t> members = members_of(communicator, communicators, ground.mapping);
  if (goes_by_pairs(motion)) {
    return exchange_footprint(ground.topology, motion, members, channel);
  }
  return communicators.one_way(channel) ? message_footprint(ground.topology, ground.platform,
                                                            {members[0], members[1]}, channel)
                                        : ground.topology.ring_footprint(members, channel);
}

// What moves for itself.
std::vector<Footprint> parts_of(std::int32_t communicator, const Communicators& communicators,
                                const Ground& ground, Motion motion) {
  const ChannelNumber channel = communicators.channel(communicator);
  if (communicators.one_way(channel) || goes_by_pairs(motion)) {
    return {footprint_of(communicator, communicators, ground, motion)};
  }
  return ring_parts(ground.topology, ground.platform,
                    members_of(communicator, communicators, ground.mapping), channel);
}

// What was measured of a node's rings together binds them together: a link that is full when each
// of them has its plateau. Rings over nodes have one a node; in a node those of each group of an
// axis have one.
class Plateaus {
 public:
  Plateaus(const Communicators& communicators, const Ground& ground, const ChannelWork& work)
      : communicators_(communicators), ground_(ground), loads_(work.loads) {
    if (loads_.empty()) return;
    for (std::int32_t c = 0; c < communicators.count(); ++c) {
      for (std::int64_t node : nodes_of(c)) ++rings_[{communicators.channel(c), node}];
    }
  }

  // Appends what a communicator takes of links that come after the first `links`.
  void add(std::int32_t communicator, std::int32_t links, Footprint& footprint) {
    const ChannelNumber channel = communicators_.channel(communicator);
    for (std::int64_t node : nodes_of(communicator)) {
      const ChannelLoad& load = loads_[static_cast<std::size_t>(channel)];
      const double rings = static_cast<double>(rings_.at({channel, node}));
      footprint.push_back({links + number({-1, node}), 1.0 / (rings * load.plateau.value)});
    }
    if (!inside(communicator)) return;
    const ChannelLoad& load = loads_[static_cast<std::size_t>(channel)];
    const std::int64_t first = communicators_.first_member(communicator);
    footprint.push_back(
        {links + number({communicators_.distance(channel), first}), 1.0 / load.plateau.value});
  }

  std::int32_t count() const { return static_cast<std::int32_t>(numbers_.size()); }

 private:
  // A node, or the members of a group in one by their distance and the first of them.
  using Of = std::pair<std::int64_t, std::int64_t>;

  bool has(std::int32_t communicator) const {
    const auto channel = static_cast<std::size_t>(communicators_.channel(communicator));
    return !loads_.empty() && loads_[channel].plateau.value > 0.0;
  }
  bool inside(std::int32_t communicator) const {
    const auto channel = static_cast<std::size_t>(communicators_.channel(communicator));
    return has(communicator) && !loads_[channel].across;
  }
  // Of a ring over nodes, each once.
  std::vector<std::int64_t> nodes_of(std::int32_t communicator) const {
    if (!has(communicator) || inside(communicator)) return {};
    std::vector<std::int64_t> nodes = members_of(communicator, communicators_, ground_.mapping);
    for (std::int64_t& node : nodes) node /= ground_.platform.node.devices;
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }
  std::int32_t number(Of of) {
    return numbers_.emplace(of, static_cast<std::int32_t>(numbers_.size())).first->second;
  }

  const Communicators& communicators_;
  const Ground& ground_;
  const std::vector<ChannelLoad>& loads_;
  std::map<Of, std::int64_t> rings_;  // by channel and node
  std::map<Of, std::int32_t> numbers_;
};

}  // namespace

std::vector<Motion> channel_motions(const TimedProgram& program) {
  std::vector<Motion> motions(program.channels.size(), Motion::around);
  std::vector<bool> known(motions.size(), false);
  for (const TimedCollective& collective : program.collectives) {
    const auto channel = static_cast<std::size_t>(collective.channel);
    const Motion motion = row_of(collective.kind).motion;
    const bool alike =
        goes_by_pairs(motion) ? motion == motions[channel] : !goes_by_pairs(motions[channel]);
    if (known[channel] && !alike) {
      throw std::invalid_argument("Channel " + name(program.channels[channel]) + " carries " +
                                  with_article(name(collective.kind)) +
                                  " beside collectives that load other links: give it a channel of "
                                  "its own.");
    }
    motions[channel] = motion;
    known[channel] = true;
  }
  return motions;
}

Load load_of(const Communicators& communicators, const Ground& ground, const ChannelWork& work) {
  std::vector<double> capacities;
  for (std::int32_t link = 0; link < ground.topology.link_count(); ++link) {
    capacities.push_back(ground.faults.bound(link));
  }
  std::vector<Footprint> footprints;
  std::vector<double> bounds;
  for (std::int32_t c = 0; c < communicators.count(); ++c) {
    bounds.push_back(work.caps[communicators.channel(c)]);
    footprints.push_back(
        footprint_of(c, communicators, ground, motion_of(communicators.channel(c), work)));
  }
  ground.faults.refuse_idle(footprints);
  std::vector<double> bytes(capacities.size(), 0.0);
  for (std::int32_t c = 0; c < communicators.count(); ++c) {
    ground.faults.reroute(footprints[c]);
    const std::vector<double>& sent = work.sent[communicators.stage(communicators.first_member(c))];
    for (const LinkShare& entry : footprints[c]) {
      bytes[entry.link] +=
          entry.share * ground.faults.kept(entry.link) * sent[communicators.channel(c)];
    }
  }
  // What is not needed any more is let go at once: of a whole machine these are hundreds of MiB.
  std::vector<std::uint8_t> may_be_held_up;
  {
    const Incidence rings = Incidence(capacities, footprints).deciding(bounds);
    for (std::int32_t c = 0; c < communicators.count(); ++c) {
      may_be_held_up.push_back(rings.links_of(c).empty() ? 0 : 1);
      if (may_be_held_up.back() != 0) footprints[c] = {};
    }
  }
  std::vector<Footprint> edges;
  std::vector<double> edge_bounds;
  Parts edges_of{{0}};
  for (std::int32_t c = 0; c < communicators.count(); ++c) {
    if (may_be_held_up[c] == 0) {
      edges.push_back(std::move(footprints[c]));
    } else {
      for (Footprint& edge :
           parts_of(c, communicators, ground, motion_of(communicators.channel(c), work))) {
        ground.faults.reroute(edge);
        edges.push_back(std::move(edge));
      }
    }
    edge_bounds.resize(edges.size(), bounds[c]);
    edges_of.first.push_back(static_cast<std::int32_t>(edges.size()));
  }
  footprints = {};
  std::optional<Incidence> deciding = Incidence(capacities, edges).deciding(edge_bounds);
  Plateaus plateaus(communicators, ground, work);
  const std::int32_t links = ground.topology.link_count();
  std::vector<Footprint> loads;
  std::vector<double> load_bounds;
  Parts parts{{0}};
  for (std::int32_t c = 0; c < communicators.count(); ++c) {
    const std::int32_t first = edges_of.first[c];
    const std::span<Footprint> own(edges.data() + first, edges.data() + edges_of.first[c + 1]);
    std::ranges::move(merged(own, first, *deciding, bounds[c]), std::back_inserter(loads));
    // A ring that nothing else holds up is one part with its plateaus.
    Footprint taken;
    plateaus.add(c, links, taken);
    merge(taken);
    if (!taken.empty() && may_be_held_up[c] == 0) {
      loads.back().insert(loads.back().end(), taken.begin(), taken.end());
    } else if (!taken.empty()) {
      loads.push_back(std::move(taken));
    }
    load_bounds.resize(loads.size(), bounds[c]);
    parts.first.push_back(static_cast<std::int32_t>(loads.size()));
  }
  deciding.reset();
  edges = {};
  capacities.resize(capacities.size() + static_cast<std::size_t>(plateaus.count()), 1.0);
  return {Incidence(std::move(capacities), loads).deciding(load_bounds), std::move(parts),
          std::move(bytes)};
}

}  // namespace fourfold::inline sim::inline replay
