// A simulation that should have ended did not: it may another time, as after a lack of memory.
#pragma once

#include "scaling/records/finding.hpp"

namespace fourfold::inline scaling::inline records {

struct SimulationFailed : FindingFailed {
  using FindingFailed::FindingFailed;
};

}  // namespace fourfold::inline scaling::inline records
