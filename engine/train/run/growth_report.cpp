// Finds the largest rank; see growth_report.hpp.
#include "engine/train/run/growth_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/train/run/run_header.hpp"

namespace fourfold::inline engine::inline train::inline run {

void report_growth(const World& world, const RunLog& log, const MemoryGrowth& growth,
                   const MemoryUse& counted) {
  struct RankMemory {
    std::int64_t grown = 0, before = 0;
    bool operator<(const RankMemory& other) const { return grown < other.grown; }
  };
  const std::vector<RankMemory> ranks = world.all(RankMemory{growth.bytes(), growth.before()});
  const RankMemory most = *std::max_element(ranks.begin(), ranks.end());
  log.say(growth_text(most.grown, most.before, counted));
  log.record(
      fmt::format("{{\"kind\":\"memory\",\"grown_B\":{},\"counted_B\":{:.0f},\"before_B\":{}}}",
                  most.grown, counted.peak.value, most.before));
}

}  // namespace fourfold::inline engine::inline train::inline run
