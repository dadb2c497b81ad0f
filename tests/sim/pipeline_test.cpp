// Pipelines on the estimated rung: idle shares against closed forms, stages that are alike, legs
// that are walked once, and orders that cannot end.
#include <gtest/gtest.h>

#include <map>

#include "platforms/platform.hpp"
#include "schedule/fold/names.hpp"
#include "schedule/fold/short_folds.hpp"
#include "sim/cost/lower.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/estimate/pipeline_walk.hpp"
#include "tests/points.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

// Seconds of a stage's blocks by the section they stand in; what has no section takes none.
using Durations = std::map<std::string, double>;

// Stages of equal blocks without communication, and messages that take no time.
TimedProgram blocks_alone(PipelineOrder order, std::int64_t stages, std::int64_t micro_batches,
                          std::int64_t chunks, const Durations& durations) {
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
  // Blocks take what they do a chunk, everything else nothing.
  for (TimedStep& step : program.steps) step.duration = {};
  for (TimedCollective& collective : program.collectives) {
    collective.uncontended = {};
    collective.cost = {};
    collective.lost = {};
  }
  for (std::size_t stage = 0; stage < folded.size(); ++stage) {
    const NamedStep named = named_step(model, options, {static_cast<std::int64_t>(stage), stages});
    const StageCycles cycles = program.stages[stage];
    std::size_t first = 0;
    for (std::int32_t c = cycles.first; c < cycles.last; ++c) {
      const RunCycle& cycle = program.cycles[static_cast<std::size_t>(c)];
      std::size_t section = first;
      for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
        const StepRun& run = program.runs[static_cast<std::size_t>(r)];
        const std::string& name = named.sections.at(section).name;
        const double seconds = durations.contains(name) ? durations.at(name) : 0.0;
        for (std::int32_t s = run.last - 1; s >= run.first && seconds > 0; --s) {
          TimedStep& step = program.steps[static_cast<std::size_t>(s)];
          if (step.kind != StepKind::compute) continue;
          step.duration = {seconds / static_cast<double>(chunks)};
          break;
        }
        section += static_cast<std::size_t>(run.repeats);
      }
      const BodyCycle& named_cycle =
          named.folded.cycles[static_cast<std::size_t>(c - cycles.first)];
      first += (section - first) * static_cast<std::size_t>(rounds_said(named_cycle));
    }
  }
  return program;
}

// (p - 1) / m, and (p - 1) / (v m) interleaved: `shared/parallelism.md`'s table; Narayanan et al.,
// SC21, section 2.2.
TEST(Pipeline, IdlesAsLongAsItsClosedFormSays) {
  const double f = 1.0;
  const double b = 2.0;
  const Durations durations{{"forward", f}, {"backward", b}};
  for (std::int64_t p : {2, 3, 4, 8}) {
    for (std::int64_t m : {p, 2 * p, 4 * p}) {
      for (PipelineOrder order :
           {PipelineOrder::gpipe, PipelineOrder::one_f_one_b, PipelineOrder::message_driven}) {
        const double seconds = estimate_step(blocks_alone(order, p, m, 1, durations)).total.value;

        const double ideal = static_cast<double>(m) * (f + b);
        EXPECT_NEAR(seconds / ideal - 1, static_cast<double>(p - 1) / static_cast<double>(m), 1e-9)
            << name(order) << " p=" << p << " m=" << m;
      }
      for (std::int64_t v : {2, 4}) {
        const double seconds =
            estimate_step(blocks_alone(PipelineOrder::interleaved, p, m, v, durations)).total.value;

        const double ideal = static_cast<double>(m) * (f + b);
        EXPECT_NEAR(seconds / ideal - 1, static_cast<double>(p - 1) / static_cast<double>(v * m),
                    1e-9)
            << "p=" << p << " m=" << m << " v=" << v;
      }
    }
  }
}

// (p - 1)(f + b - w) / (m (f + b + w)) for ZB-H1, b with recompute: Qi et al., arXiv:2401.10241,
// section 3. It holds where a weight gradient takes no longer than a forward or an input gradient.
TEST(Pipeline, OfZeroBubbleIdlesAsLongAsItsClosedFormSays) {
  struct Passes {
    double f, b, w;
  };
  for (const Passes& t : {Passes{1, 1, 1}, Passes{1, 2, 1}, Passes{1.2, 2.5, 0.8}}) {
    const Durations durations{{"forward", t.f}, {"input gradient", t.b}, {"weight gradient", t.w}};
    for (std::int64_t p : {2, 3, 4, 8}) {
      for (std::int64_t m : {p, p + 1, 2 * p, 4 * p}) {
        const double seconds =
            estimate_step(blocks_alone(PipelineOrder::zero_bubble, p, m, 1, durations)).total.value;

        const double ideal = static_cast<double>(m) * (t.f + t.b + t.w);
        const double idle = static_cast<double>(p - 1) * (t.f + t.b - t.w);
        EXPECT_NEAR(seconds / ideal - 1, idle / ideal, 1e-9)
            << "f=" << t.f << " b=" << t.b << " w=" << t.w << " p=" << p << " m=" << m;
      }
    }
  }
}

// The first stage waits for its first gradient, which nothing can bring earlier with as many
// micro-batches in flight.
TEST(Pipeline, OfZeroBubbleWithLongWeightGradientsIdlesUntilTheFirstGradient) {
  const Durations durations{{"forward", 1.0}, {"input gradient", 1.5}, {"weight gradient", 2.0}};

  const double seconds =
      estimate_step(blocks_alone(PipelineOrder::zero_bubble, 4, 12, 1, durations)).total.value;

  EXPECT_NEAR(seconds, 12 * 4.5 + 3 * 1.5, 1e-9);
}

Point interleaved() {
  return made_up_point("frontier", {"even", 32, 3840, 24, 2048, 51'200}, ProcessGrid(2, 1, 2, 1, 8),
                       64, with(PipelineOrder::interleaved, 32, 2));
}

TEST(PipelineWalk, WalksLegsOnceWhereNothingIsUnderWayBetweenThem) {
  const Platform frontier = read_platform("frontier");
  Point point = interleaved();
  point.grid = ProcessGrid(2, 1, 1, 1, 8);
  const Pipeline pipeline(folded_stages(point.model, point.options, 8));
  std::vector<LocalSizes> sizes(pipeline.kinds().size());
  std::size_t legs = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const StageKind& kind = pipeline.kinds()[k];
    legs += kind.legs.size();
    sizes[k].evaluate(pipeline.stages()[static_cast<std::size_t>(kind.stage)], point.grid,
                      {micro_batch_tokens(point)});
  }
  TimedBodies bodies;
  lower(pipeline, sizes,
        {point.grid, group_shapes(point, frontier), AxisRates(frontier), frontier, {}}, bodies);
  PipelineWalk walk;

  walk.walk(pipeline, bodies);

  EXPECT_LE(walk.walked(), static_cast<std::int64_t>(legs));
  EXPECT_GT(pipeline.meetings().size(), 20 * legs);
}

TEST(Pipeline, KnowsItsMiddleStagesAsAlike) {
  const Point point = interleaved();

  const Pipeline pipeline(folded_stages(point.model, point.options, 8));

  ASSERT_EQ(pipeline.kinds().size(), 3U);
  for (std::size_t i = 1; i < 7; ++i) EXPECT_EQ(pipeline.index_of_kind(i), 1U) << i;
}

TEST(Pipeline, OfStagesThatWaitForEachOtherForEverIsRefused) {
  const Point point = interleaved();
  std::vector<Folded> stages = folded_stages(point.model, point.options, 8);
  stages[3].cycles.erase(stages[3].cycles.begin() + 1, stages[3].cycles.end());

  const std::string why = refusal([&] { Pipeline{stages}; });

  EXPECT_EQ(why,
            "The stages of the pipeline wait for each other for ever: a send or a receive of the "
            "order stands in the wrong place.");
}

}  // namespace
}  // namespace fourfold::tests
