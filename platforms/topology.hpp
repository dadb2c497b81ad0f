// The links of a machine and the way a message takes through them, by arithmetic: no tables that grow
// with the square of the machine. Devices are numbered node by node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platforms/platform.hpp"

namespace fourfold {

enum class LinkKind : std::uint8_t { inner, nic_out, nic_in, local, global, port };
const char* name(LinkKind kind);

// `share` of a message's bytes crosses `link`; shares are fractions where routing spreads.
struct LinkShare {
  std::int32_t link = 0;
  double share = 0.0;
};

// Sparse sum of the links that one collective of one group loads per byte of ring bandwidth: if the
// ring moves at r bytes/s, link l carries share * r.
using Footprint = std::vector<LinkShare>;

class Topology {
 public:
  // Links of the first `nodes` nodes of the platform (and of every group they touch, plus detour
  // groups). The Platform must outlive the Topology. Throws if nodes exceeds the machine.
  Topology(const Platform& platform, std::int64_t nodes);

  std::int64_t devices() const;
  std::int32_t link_count() const;
  BytesPerSecond capacity(std::int32_t link) const;
  LinkKind kind(std::int32_t link) const;
  std::string link_name(std::int32_t link) const;  // "node 17 nic 2 out", "group 3 -> group 9"

  // Appends the path of a message between two devices, with fractions over detours. `minimal` is the
  // single path of minimal routing: every share is 1.
  void route(std::int64_t from, std::int64_t to, Footprint& path) const;
  void minimal_route(std::int64_t from, std::int64_t to, std::vector<std::int32_t>& path) const;

  // What a ring over `members` (devices, in ring order as given by the process grid line) loads, as
  // the collective library would build it: several rings, one per member of a node, each entering
  // and leaving the node through another member's NIC; inside a node the rings of `node_rings`.
  // Shares are merged by link and sorted. `lane` matters only on a crossbar with private ports.
  Footprint ring_footprint(const std::vector<std::int64_t>& members, int lane) const;

 private:
  // (to be filled in)
};

// The ring rate (bytes/s each device can send, = bus bandwidth) of one group of an axis when every
// group of that axis runs at the same time on a packed mapping, and nothing else does: a closed form
// by link kind, O(devices per node), with no allocation. `stride` and `extent` as in ProcessGrid;
// `devices` is the size of the job. Does not include the library's caps.
BytesPerSecond axis_link_rate(const Platform& platform, std::int64_t stride, std::int64_t extent,
                              std::int64_t devices);

}  // namespace fourfold
