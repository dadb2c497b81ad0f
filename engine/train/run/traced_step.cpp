// Brings the spans of all ranks together; see traced_step.hpp.
#include "engine/train/run/traced_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "engine/train/run/agreement.hpp"
#include "engine/train/run/step_report.hpp"
#include "engine/train/run/trace.hpp"
#include "schedule/order/step.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline engine::inline train::inline run {

std::int64_t traced_step(const TrainSettings& settings, std::int64_t steps_before) {
  constexpr std::int64_t warm = 5;  // caches, buffers and the clock of the processor have settled
  const std::int64_t steps = settings.length.steps > 0 ? settings.length.steps - steps_before
                                                       : std::numeric_limits<std::int64_t>::max();
  if (settings.trace_step == 0) return std::min(warm, steps);
  if (settings.trace.empty() || settings.trace_step <= steps) return settings.trace_step;
  throw std::runtime_error(fmt::format("--trace-step {} has no effect: this run has {}",
                                       settings.trace_step, amount(steps, "step")));
}

void write_traced_step(const TrainSettings& settings, const World& world, std::int64_t step,
                       const std::vector<OpSpan>& spans) {
  const std::int64_t stages = settings.grid.extent(Axis::pipe);
  std::vector<TracedRank> ranks;
  const std::int64_t most = std::ranges::max(world.all(static_cast<std::int64_t>(spans.size())));
  for (std::int64_t rank : traced_ranks(world.size(), most)) {
    if (world.rank() != rank && world.rank() != 0) continue;
    std::vector<OpSpan> its = world.to_first(spans, rank);
    if (world.rank() == 0) ranks.push_back({rank, std::move(its)});
  }
  together([&] {
    if (world.rank() != 0) return;
    const std::string title = fmt::format("{} on grid {}, step {}, measured", settings.model.name,
                                          settings.grid.str(), step);
    std::vector<Program> programs;
    const StepOptions options = options_in_effect(settings);
    for (std::int64_t i = 0; i < stages; ++i) {
      programs.push_back(record_step(settings.model, options, Stage{i, stages}));
    }
    write_whole_file(settings.trace, trace_json(programs, settings.grid, ranks, title));
  });
}

}  // namespace fourfold::inline engine::inline train::inline run
