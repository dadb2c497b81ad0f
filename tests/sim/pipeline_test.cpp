// Pipelines on the estimated rung: idle shares against closed forms, and what stages do for each
// other.
#include <gtest/gtest.h>

#include "platforms/platform.hpp"
#include "schedule/fold/names.hpp"
#include "sim/cost/lower.hpp"
#include "sim/estimate/estimate.hpp"

namespace fourfold {
namespace {

// Stages of equal blocks without communication: forward f and backward b of a stage, messages that
// take no time.
TimedProgram blocks_alone(PipelineOrder order, std::int64_t stages, std::int64_t micro_batches,
                          std::int64_t chunks, double f, double b) {
  StepOptions options;
  options.order = order;
  options.micro_batches = micro_batches;
  options.chunks = chunks;
  const Model model{"even", stages * chunks, 48, 12, 8, 96};
  TimedProgram program;
  std::vector<Folded> folded = folded_stages(model, options, stages);
  const ProcessGrid grid(1, 1, 1, 1, stages);
  const Platform platform = read_platform("crossbar");
  std::vector<LocalSizes> sizes(folded.size());
  for (std::size_t i = 0; i < folded.size(); ++i) {
    sizes[i].evaluate(folded[i], grid, {8 * micro_batches});
  }
  const GroupShapes shapes = group_shapes(grid, platform.node.devices);
  lower(folded, sizes, {grid, shapes, AxisRates(platform), platform, {}}, program);
  // Blocks take f or b a chunk, everything else nothing.
  for (TimedStep& step : program.steps) step.duration = {};
  for (TimedCollective& collective : program.collectives) {
    collective.uncontended = {};
    collective.cost = {};
  }
  program.interference = 0;
  for (std::size_t stage = 0; stage < folded.size(); ++stage) {
    const NamedStep named = named_step(model, options, {static_cast<std::int64_t>(stage), stages});
    const StageCycles cycles = program.stages[stage];
    std::size_t section = 0;
    for (std::int32_t c = cycles.first; c < cycles.last; ++c) {
      const RunCycle& cycle = program.cycles[static_cast<std::size_t>(c)];
      for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
        const StepRun& run = program.runs[static_cast<std::size_t>(r)];
        const std::string& name = named.sections.at(section).name;
        const double seconds = name == "forward" ? f : name == "backward" ? b : 0.0;
        for (std::int32_t s = run.last - 1; s >= run.first && seconds > 0; --s) {
          TimedStep& step = program.steps[static_cast<std::size_t>(s)];
          if (step.kind != StepKind::compute) continue;
          step.duration = {seconds / static_cast<double>(chunks)};
          break;
        }
        section += static_cast<std::size_t>(run.repeats);
      }
    }
  }
  return program;
}

// (p - 1) / m, and (p - 1) / (v m) interleaved: `shared/parallelism.md`'s table; Narayanan et al.,
// SC21, section 2.2.
TEST(Pipeline, IdlesAsLongAsItsClosedFormSays) {
  const double f = 1.0;
  const double b = 2.0;
  for (std::int64_t p : {2, 3, 4, 8}) {
    for (std::int64_t m : {p, 2 * p, 4 * p}) {
      for (PipelineOrder order :
           {PipelineOrder::gpipe, PipelineOrder::one_f_one_b, PipelineOrder::message_driven}) {
        const double seconds = estimate(blocks_alone(order, p, m, 1, f, b)).total.value;

        const double ideal = static_cast<double>(m) * (f + b);
        EXPECT_NEAR(seconds / ideal - 1, static_cast<double>(p - 1) / static_cast<double>(m), 1e-9)
            << name(order) << " p=" << p << " m=" << m;
      }
      for (std::int64_t v : {2, 4}) {
        const double seconds =
            estimate(blocks_alone(PipelineOrder::interleaved, p, m, v, f, b)).total.value;

        const double ideal = static_cast<double>(m) * (f + b);
        EXPECT_NEAR(seconds / ideal - 1, static_cast<double>(p - 1) / static_cast<double>(v * m),
                    1e-9)
            << "p=" << p << " m=" << m << " v=" << v;
      }
    }
  }
}

}  // namespace
}  // namespace fourfold
