// The rates of large buffers, by kind of group, and whether they rise any more.
#pragma once

#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "scaling/calibrate/collective_log.hpp"

namespace fourfold::inline scaling::inline calibrate {

// Groups whose plateaus stand in one table of a platform file.
struct GroupKind {
  const char* table;  // "across", below [library]
  std::vector<Plateau> CollectiveLibrary::*rows;
  bool (*holds)(const CollectiveSample& sample);
};
const std::vector<GroupKind>& group_kinds();

struct MeasuredPlateau {
  Plateau row;
  double bytes = 0.0;    // of the largest buffer
  bool reached = false;  // the rate is at least 0.8 of what the last bytes were sent at
};

// Of groups of a kind, by members a node: the median over collectives and runs at the largest
// buffers.
std::vector<MeasuredPlateau> plateaus(const std::vector<CollectiveSample>& samples,
                                      const GroupKind& kind);

double bus_bandwidth(const CollectiveSample& sample);  // bytes/s

}  // namespace fourfold::inline scaling::inline calibrate
