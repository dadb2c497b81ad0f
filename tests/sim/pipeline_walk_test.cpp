// A pipeline walked by its legs costs what its stages cost walked step by step: seconds and where
// they went, memory, counts.
#include "sim/estimate/pipeline_walk.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "schedule/fold/short_folds.hpp"
#include "schedule/models/fit.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

constexpr double within = 1e-9;

void expect_near(double walked, double stepped, double scale, const std::string& what) {
  EXPECT_NEAR(walked, stepped, within * scale) << what;
}

void expect_equal(const Outcome& walked, const Outcome& stepped, const std::string& what) {
  const double total = stepped.total.value;
  expect_near(walked.total.value, total, total, what + " total");
  expect_near(walked.compute.value, stepped.compute.value, total, what + " compute");
  expect_near(walked.bubble.value, stepped.bubble.value, total, what + " bubble");
  ASSERT_EQ(walked.channels, stepped.channels) << what;
  for (std::size_t c = 0; c < walked.channels.size(); ++c) {
    const std::string channel = what + ' ' + name(walked.channels[c]);
    expect_near(walked.exposed[c].value, stepped.exposed[c].value, total, channel + " exposed");
    expect_near(walked.busy[c].value, stepped.busy[c].value, total, channel + " busy");
  }
}

void expect_equal(const Estimate& walked, const Estimate& stepped, const std::string& what) {
  expect_equal(walked.outcome, stepped.outcome, what);
  ASSERT_EQ(walked.stage_memory.size(), stepped.stage_memory.size()) << what;
  for (std::size_t i = 0; i < walked.stage_memory.size(); ++i) {
    EXPECT_EQ(walked.stage_memory[i].peak.value, stepped.stage_memory[i].peak.value) << what;
    EXPECT_EQ(walked.stage_memory[i].by_role, stepped.stage_memory[i].by_role) << what;
  }
  const Counts& a = walked.counts;
  const Counts& b = stepped.counts;
  expect_near(a.gemm.value, b.gemm.value, b.gemm.value, what + " gemm");
  expect_near(a.functions.value, b.functions.value, b.gemm.value, what + " functions");
  ASSERT_EQ(a.channels, b.channels) << what;
  EXPECT_EQ(a.collectives, b.collectives) << what;
  for (std::size_t c = 0; c < a.channels.size(); ++c) {
    expect_near(a.payload[c].value, b.payload[c].value, b.payload[c].value + 1, what + " payload");
    expect_near(a.sent[c].value, b.sent[c].value, b.sent[c].value + 1, what + " sent");
  }
}

// A point drawn by chance: any order, overlaps, unequal stages, the last micro-batches by
// themselves.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  Point point(const std::string& platform) {
    const std::int64_t p = one_of({2, 3, 4, 6});
    const std::int64_t v = one_of({1, 1, 2, 3, 4});
    Point point;
    point.platform = platform;
    point.model = {"drawn", p * v * one_of({1, 2}) + one_of({0, 0, 1, 2}), 3840, 24, 2048, 51'200};
    StepOptions& options = point.options;
    options.chunks = v;
    constexpr std::array of_one_chunk{PipelineOrder::one_f_one_b, PipelineOrder::gpipe,
                                      PipelineOrder::zero_bubble, PipelineOrder::message_driven};
    options.order = v > 1 ? PipelineOrder::interleaved
                          : of_one_chunk[static_cast<std::size_t>(one_of({0, 1, 2, 3}))];
    options.micro_batches = v > 1 ? p * one_of({1, 2, 3, 5}) : one_of({1, 2, 3, 7, 16, 23});
    for (bool* overlap : {&options.overlap.all_reduce, &options.overlap.reduce_scatter,
                          &options.overlap.all_gather, &options.overlap.messages}) {
      *overlap = one_of({0, 1}) == 1;
    }
    if (one_of({0, 1})) options.weight_gather = WeightGather::keep;
    if (one_of({0, 1})) options.gradient_reduction = GradientReduction::accumulated;
    if (one_of({0, 1})) options.data_reduction = DataReduction::beside_backward;
    if (one_of({0, 1})) options.recompute = Recompute::none;
    if (one_of({0, 0, 1})) options.attention = AttentionKernel::unfused;
    if (one_of({0, 0, 1})) options.offload_bucket = 1 << 20;
    if (one_of({0, 0, 1})) options.cut_messages = true;
    if (one_of({0, 0, 1})) options.data_bucket = 1 << 28;
    if (one_of({0, 0, 1})) options.rank_order = RankOrder::parse("x,pipe,y,z,data");
    options.zero = one_of({0, 0, 1, 2, 3});
    options.sequence_parallel = one_of({0, 1}) == 1;
    options.offload_activations = one_of({0, 1}) == 1;
    point.grid =
        ProcessGrid(one_of({1, 2, 4}), one_of({1, 1, 2}), one_of({1, 1, 2, 4}), one_of({1, 2}), p);
    point.global_batch = options.micro_batches * point.grid.extent(Axis::z) *
                         point.grid.extent(Axis::data) * one_of({1, 2});
    return point;
  }

 private:
  std::int64_t one_of(std::initializer_list<std::int64_t> list) {
    return *(list.begin() + random_() % list.size());
  }
  std::mt19937 random_;
};

TEST(PipelineWalk, SaysWhatTheStagesSayStepByStepWhateverTheOptions) {
  const Platform frontier = read_platform("frontier");
  Draw draw(1);
  int compared = 0;
  while (compared < 60) {
    const Point point = draw.point("frontier");
    if (!misfit(point.model, point.grid, point.global_batch, point.options).empty()) continue;
    const std::int64_t m = point.options.micro_batches;
    const std::vector<Folded> stages =
        folded_stages(point.model, point.options, point.grid.extent(Axis::pipe));
    Estimator estimator(frontier, point);

    const Estimate stepped = estimator.evaluate(stages, point.grid, m);
    const Estimate walked = estimator.evaluate(Pipeline(stages), point.grid, m);

    expect_equal(walked, stepped,
                 point.grid.str() + ' ' + name(point.options.order) + " m=" + std::to_string(m));
    ++compared;
  }
}

Point interleaved() {
  Point point;
  point.platform = "frontier";
  point.model = {"even", 32, 3840, 24, 2048, 51'200};
  point.options.order = PipelineOrder::interleaved;
  point.options.chunks = 2;
  point.options.micro_batches = 32;
  point.grid = ProcessGrid(2, 1, 2, 1, 8);
  point.global_batch = 64;
  return point;
}

TEST(PipelineWalk, SaysTheSameAfterOtherGridsAndPipelines) {
  const Platform frontier = read_platform("frontier");
  const Point point = interleaved();
  const Pipeline pipeline(folded_stages(point.model, point.options, 8));
  StepOptions others = point.options;
  others.micro_batches = 16;
  const Pipeline other(folded_stages(point.model, others, 4));
  Estimator used(frontier, point);
  used.evaluate(other, ProcessGrid(4, 1, 1, 2, 4), 16);
  used.evaluate(pipeline, ProcessGrid(1, 1, 1, 4, 8), 32);

  const Estimate again = used.evaluate(pipeline, point.grid, 32);
  const Estimate fresh = Estimator(frontier, point).evaluate(pipeline, point.grid, 32);

  EXPECT_EQ(again.outcome.total.value, fresh.outcome.total.value);
  EXPECT_EQ(again.outcome.bubble.value, fresh.outcome.bubble.value);
  EXPECT_EQ(again.memory.peak.value, fresh.memory.peak.value);
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
