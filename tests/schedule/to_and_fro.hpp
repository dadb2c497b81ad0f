// What all operations of a folded step move between a device and its host's memory.
#pragma once

#include "tests/schedule/steps.hpp"

namespace fourfold::tests {

inline HostTraffic to_and_fro(const Folded& folded, const LocalSizes& sizes) {
  HostTraffic sum;
  for (const BodyCycle& cycle : folded.cycles) {
    for (const BodyRun& run : cycle.runs) {
      const auto times = static_cast<double>(run.repeats * cycle.repeats);
      for (const FoldedStep& step : folded.bodies[static_cast<std::size_t>(run.body)].steps) {
        if (step.kind != IssueKind::compute) continue;
        for (std::int32_t c : folded.bundles[static_cast<std::size_t>(step.index)]) {
          const HostTraffic once = host_traffic(folded.classes[static_cast<std::size_t>(c)], sizes);
          sum.to_device += once.to_device * times;
          sum.to_host += once.to_host * times;
          sum.buckets += once.buckets * times;
        }
      }
    }
  }
  return sum;
}

inline HostTraffic to_and_fro(const Counted& step) {
  return to_and_fro(step.folded, step.sizes);
}

}  // namespace fourfold::tests
