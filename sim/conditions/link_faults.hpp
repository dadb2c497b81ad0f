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

  bool none() const { return degrade.empty() && fail.empty(); }
};

// A failed cable of a bundle takes its part of the bundle's bandwidth with it. What has no cable
// left is gone, and its traffic takes other ways, in equal parts: that of a NIC through the other
// NICs of its node (the way through the network stays the NIC's own), that of a switch pair over
// the group's other switches, that of a group pair over all other groups. Other links have no such
// way and cannot fail.
class FaultyLinks {
 public:
  // Throws std::runtime_error with a sentence on links that the job does not have, that cannot
  // fail, or that are named twice for the same.
  FaultyLinks(const LinkFaults& faults, const Topology& topology, const Platform& platform);

  double capacity(std::int32_t link) const;  // bytes/s
  // Takes the load off links that are gone. The footprint must be that of the sound machine.
  void reroute(Footprint& footprint) const;
  // Throws std::runtime_error if a fault touches nothing that these footprints, of the sound
  // machine, load.
  void refuse_idle(const std::vector<Footprint>& footprints) const;

 private:
  enum class Harm : std::uint8_t { degraded, failed };
  struct Fault {
    std::string link;  // as the user named it
    Harm harm = Harm::degraded;
    std::vector<std::int32_t> directions;
  };

  const std::vector<std::int32_t>& remember(const std::string& link, Harm harm,
                                            const Platform& platform);
  std::int32_t named(const std::string& name) const;
  void fail(const Failure& failure, const Platform& platform);
  void detour(std::int32_t link, std::vector<std::vector<std::int32_t>> ways);

  const Topology& topology_;
  std::unordered_map<std::string, std::int32_t> by_name_;  // empty without faults
  std::vector<Fault> faults_;
  std::unordered_map<std::int32_t, double> factors_;  // on capacity
  std::unordered_map<std::int32_t, std::vector<std::vector<std::int32_t>>> gone_;
};

}  // namespace fourfold::inline sim::inline conditions
