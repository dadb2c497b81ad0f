// Which links a message or a collective loads, as a sparse vector of shares: the unit in which
// routing, the simulator and the closed form speak about contention.
#pragma once

#include <cstdint>
#include <vector>

namespace fourfold {

// `share` of a message's bytes crosses `link`; shares are fractions where routing spreads.
struct LinkShare {
  std::int32_t link = 0;
  double share = 0.0;
};

// Sparse sum of the links that one collective of one group loads per byte of ring bandwidth: if the
// ring moves at r bytes/s, link l carries share * r.
using Footprint = std::vector<LinkShare>;

// Sorts by link and adds up the shares of equal links.
void merge(Footprint& footprint);

}  // namespace fourfold
