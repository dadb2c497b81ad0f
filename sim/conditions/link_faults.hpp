// Links that are slower than their kind, or gone: what a replay does about them.
//
//   nic:NODE.NIC         a NIC, in and out
//   inner:NODE.A-B       between two devices of a node
//   local:GROUP.A-B      between two switches of a group
//   global:A-B           the bundle between two groups
//   device:DEVICE        the ports of a device, on a crossbar
//
// or by the name that topology gives it, with its direction ("group 3 -> group 9", "pod 2 up") or
// for both ("pod 2", "unit 3 rail 1"). Numbers are those of the machine.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "platforms/network/topology.hpp"
#include "sim/conditions/what_ifs.hpp"

namespace fourfold::inline sim::inline conditions {

struct LinkFaults {
  std::vector<Degradation> degrade;
  std::vector<Failure> fail;
  std::vector<Background> background = {};

  bool none() const { return degrade.empty() && fail.empty() && background.empty(); }
};

// A failed cable of a bundle takes its part of the bundle's bandwidth with it. What has no cable
// left is gone, and its traffic takes other ways, in equal parts: that of a NIC through the other
// NICs of its node (the way through the network stays the NIC's own), that of a switch pair over
// the group's other switches, that of a group pair over all other groups. Other links have no such
// way and cannot fail. What is gone speeds nothing up: its traffic is still no faster than over it.
//
// A link of which a part is left keeps that part of its traffic; the rest is shared, by what is left
// of each, by the link and the ways that traffic of a link that is gone takes. So a link that is gone
// is never better than a slow one, and a slow one never better than a sound one; and all NICs of a
// node, equally slow, are that much slower. A link that has no other way makes all its traffic wait.
class FaultyLinks {
 public:
  // Throws std::runtime_error with a sentence on links that the job does not have, that cannot
  // fail, or that are named twice for the same.
  FaultyLinks(const LinkFaults& faults, const Topology& topology, const Platform& platform);

  double capacity(std::int32_t link) const;  // bytes/s
  // What traffic that has other ways is held to: capacity() without what takes them.
  double bound(std::int32_t link) const;
  // The part of a link's traffic that stays on it.
  double kept(std::int32_t link) const;
  // Adds what takes other ways; what it came from still holds it to bound(). The footprint must be
  // that of the sound machine.
  void reroute(Footprint& footprint) const;
  // Throws std::runtime_error if a fault touches nothing that these footprints, of the sound
  // machine, load.
  void refuse_idle(const std::vector<Footprint>& footprints) const;

 private:
  enum class Harm : std::uint8_t { degraded, failed, background };
  struct Fault {
    std::string link;  // as the user named it
    Harm harm = Harm::degraded;
    std::vector<std::int32_t> directions;
  };

  const std::vector<std::int32_t>& remember(const std::string& link, Harm harm,
                                            const Platform& platform);
  std::int32_t named(const std::string& name) const;
  void fail(const Failure& failure, const Platform& platform);
  void add_background(const Background& other);
  using Ways = std::vector<std::vector<std::int32_t>>;  // each a path of links
  Ways ways_around(std::int32_t link, const Platform& platform) const;

  const Topology& topology_;
  std::unordered_map<std::string, std::int32_t> by_name_;  // empty without faults
  std::vector<Fault> faults_;
  std::unordered_map<std::int32_t, double> factors_;  // what is left of a link, 0: gone
  std::unordered_map<std::int32_t, double> free_;     // what other jobs leave of it
  std::unordered_map<std::int32_t, Ways> ways_;       // around links with a factor
};

}  // namespace fourfold::inline sim::inline conditions
