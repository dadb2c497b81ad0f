// Each factor once; see paces.hpp.
#include "sim/replay/paces.hpp"

#include <algorithm>

namespace fourfold::inline sim::inline replay {

Paces::Paces(const TimedProgram& program, const std::vector<double>& factors) : programs_{program} {
  std::vector<double> known{1.0};
  for (double factor : factors) {
    const auto found = std::ranges::find(known, factor);
    of_rank_.push_back(static_cast<std::uint32_t>(found - known.begin()));
    if (found != known.end()) continue;
    known.push_back(factor);
    TimedProgram& slowed = programs_.emplace_back(program);
    for (TimedStep& step : slowed.steps) step.duration *= factor;
  }
}

std::vector<std::vector<IssueStream>> unroll(const Paces& paces, const ProcessGrid& grid,
                                             const Repetitions& repetitions) {
  std::vector<std::vector<IssueStream>> streams;
  for (const TimedProgram& program : paces.programs()) {
    streams.push_back(unroll(program, grid, repetitions));
  }
  return streams;
}

}  // namespace fourfold::inline sim::inline replay
