// A simulation that should have ended did not: it may another time, as after a lack of memory.
#pragma once

#include "scaling/find/finding.hpp"

namespace fourfold {

struct SimulationFailed : FindingFailed {
  using FindingFailed::FindingFailed;
};

}  // namespace fourfold
