// An option without an axis to act on changes neither seconds nor bytes: drawn over points.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "schedule/models/fit.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/drawn_points.hpp"

namespace fourfold::tests {
namespace {

struct IdleChange {
  const char* words;
  Axis axis;  // without which it says nothing
  std::function<void(StepOptions&)> apply;
};

const std::vector<IdleChange> changes{
    {"zero 1", Axis::data, [](StepOptions& o) { o.zero = 1; }},
    {"zero 2", Axis::data, [](StepOptions& o) { o.zero = 2; }},
    {"zero 3", Axis::data, [](StepOptions& o) { o.zero = 3; }},
    {"no zero", Axis::data, [](StepOptions& o) { o.zero = 0; }},
    {"data bucket", Axis::data, [](StepOptions& o) { o.data_bucket = 50'000'000; }},
    {"data bucket by members", Axis::data, [](StepOptions& o) { o.data_bucket_each = 50'000'000; }},
    {"reduced beside backward", Axis::data,
     [](StepOptions& o) { o.data_reduction = DataReduction::beside_backward; }},
    {"bf16 along data", Axis::data,
     [](StepOptions& o) { o.grad_reduce_precision_data = Precision::bf16; }},
    {"fp32 along z", Axis::z, [](StepOptions& o) { o.grad_reduce_precision_z = Precision::fp32; }},
    {"sequence parallel", Axis::x, [](StepOptions& o) { o.sequence_parallel = true; }},
};

void expect_alike(const Point& point, const Platform& platform, const IdleChange& change,
                  const std::string& words) {
  Point other = point;
  change.apply(other.options);
  if (!misfit(other.model, other.grid, other.global_batch, other.options).empty()) return;
  const Estimate plain = estimate_step(point, platform), changed = estimate_step(other, platform);
  EXPECT_EQ(plain.outcome.total, changed.outcome.total) << change.words << ": " << words;
  EXPECT_EQ(plain.memory.peak, changed.memory.peak) << change.words << ": " << words;
}

TEST(OptionsInEffect, ThatHaveNoAxisChangeNothing) {
  int compared = 0;
  for (std::int64_t number = 0; number < 60; ++number) {
    const DrawnPoint drawn = drawn_point(number, 16);
    for (const IdleChange& change : changes) {
      if (drawn.point.grid.extent(change.axis) > 1) continue;
      expect_alike(drawn.point, drawn.platform, change, drawn.step_words + drawn.words);
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

// So many elements of a device, for each member along data, are so many of the model.
TEST(OptionsInEffect, OfBucketsByMembersAreThoseOfTheModel) {
  StepOptions options;
  options.data_bucket_each = 1000;
  for (const char* text : {"1x1x1x2", "2x1x1x4", "2x3x1x4", "1x3x5x4", "4x2x2x8"}) {
    const ProcessGrid grid = ProcessGrid::parse(text);
    const StepOptions own = in_effect(options, grid);
    EXPECT_EQ(own.data_bucket, 1000 * grid.size() / grid.extent(Axis::z)) << text;
    EXPECT_EQ(own.data_bucket_each, 0);
  }
}

TEST(OptionsInEffect, OfGathersSayNothingWhereNothingIsGathered) {
  for (std::int64_t number = 0; number < 60; ++number) {
    DrawnPoint drawn = drawn_point(number, 16);
    if (drawn.point.grid.extent(Axis::z) > 1) continue;
    drawn.point.options.zero = 0;
    for (const IdleChange& change :
         {IdleChange{"keep", Axis::z, [](StepOptions& o) { o.weight_gather = WeightGather::keep; }},
          IdleChange{"8 blocks in flight", Axis::z,
                     [](StepOptions& o) { o.in_flight_blocks = 8; }}}) {
      expect_alike(drawn.point, drawn.platform, change, drawn.step_words + drawn.words);
    }
  }
}

TEST(OptionsInEffect, OfActivationsSayNothingWithoutFullRecompute) {
  const IdleChange away{"activations on the host", Axis::x,
                        [](StepOptions& o) { o.offload_activations = true; }};
  int compared = 0;
  for (std::int64_t number = 0; number < 60; ++number) {
    const DrawnPoint drawn = drawn_point(number, 16);
    if (drawn.point.options.recompute == Recompute::full) continue;
    expect_alike(drawn.point, drawn.platform, away, drawn.step_words + drawn.words);
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace fourfold::tests
