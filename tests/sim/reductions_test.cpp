// What a system does about its reductions changes seconds as it should: sums inside a product cost
// nothing, what is reduced beside the backward pass does not hold it up, and reductions that a
// parallel block merges are not paid twice.
#include <gtest/gtest.h>

#include <string>

#include "platforms/software.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/drawn_points.hpp"

namespace fourfold::tests {
namespace {

Point on_h100(std::int64_t micro_batches) {
  Point point;
  point.platform = "dgx-h100";
  point.model = {"wide", 8, 8192, 64, 2048, 51'200};
  point.grid = ProcessGrid(4, 1, 1, 4);
  point.global_batch = 4 * micro_batches;
  point.options.micro_batches = micro_batches;
  point.options.recompute = Recompute::none;
  return point;
}

// 16 devices: a product for a weight's gradient that adds to the sum itself.
TEST(Reductions, SumsInsideAProductCostNothing) {
  for (const std::string& name : known_software()) {
    Platform platform = read_platform("dgx-h100");
    platform.software = read_software(name);
    const MapKernels* sum = platform.software.gradient_sum();
    if (sum == nullptr || !sum->empty()) continue;
    Point point = on_h100(8);
    point.grid = ProcessGrid(4, 1, 1, 1);  // nothing is reduced, but for the sums
    point.global_batch = 8;
    const auto compute = [&](GradientReduction reduction) {
      point.options.gradient_reduction = reduction;
      return estimate_step(point, platform).outcome.compute.value;
    };

    const double each = compute(GradientReduction::per_micro_batch);
    const double sums = compute(GradientReduction::accumulated);

    EXPECT_LE(sums, each * 1.01) << name;  // a cast more
  }
}

// Beside kernels both are slower, and lanes share what they need: so much may be lost.
constexpr double lost_at_most = 0.05;

TEST(Reductions, BesideTheBackwardPassHoldNobodyUp) {
  for (std::int64_t number = 0; number < 120; ++number) {
    DrawnPoint drawn = drawn_point(number, 24);
    StepOptions& options = drawn.point.options;
    if (options.order == PipelineOrder::message_driven) continue;
    SCOPED_TRACE(drawn.words + ", " + drawn.step_words);
    options.data_reduction = DataReduction::after_backward;
    const double after = estimate_step(drawn.point, drawn.platform).outcome.total.value;
    options.data_reduction = DataReduction::beside_backward;
    const double beside = estimate_step(drawn.point, drawn.platform).outcome.total.value;

    EXPECT_LE(beside, after * (1.0 + lost_at_most));
  }
}

TEST(Reductions, OfAShardedOptimizerHideBesideTheBackwardPass) {
  const Platform platform = read_platform("dgx-h100");
  for (std::int64_t zero : {0, 1}) {
    Point point = on_h100(4);
    point.options.zero = zero;
    point.options.data_reduction = DataReduction::after_backward;
    const Outcome after = estimate_step(point, platform).outcome;
    point.options.data_reduction = DataReduction::beside_backward;
    const Outcome beside = estimate_step(point, platform).outcome;

    EXPECT_LT(beside.exposed_along(Axis::data).value, 0.8 * after.exposed_along(Axis::data).value)
        << zero;
    EXPECT_LT(beside.total.value, after.total.value) << zero;
  }
}

double sent_along_x(const Estimate& found) {
  double sent = 0.0;
  for (std::size_t c = 0; c < found.counts.channels.size(); ++c) {
    if (found.counts.channels[c].axis == Axis::x) sent += found.counts.sent[c].value;
  }
  return sent;
}

TEST(Reductions, OfParallelBlocksAreMerged) {
  const Platform platform = read_platform("dgx-h100");
  for (bool biases : {true, false}) {
    for (bool sequence_parallel : {true, false}) {
      Point point = on_h100(1);
      point.model.biases = biases;
      point.options.sequence_parallel = sequence_parallel;
      const Estimate one_by_one = estimate_step(point, platform);
      point.model.residual = ResidualKind::parallel;
      const Estimate merged = estimate_step(point, platform);

      EXPECT_LT(sent_along_x(merged), 0.95 * sent_along_x(one_by_one));
      EXPECT_LT(merged.outcome.total.value, one_by_one.outcome.total.value);
      EXPECT_EQ(merged.counts.executed().value, one_by_one.counts.executed().value);
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
