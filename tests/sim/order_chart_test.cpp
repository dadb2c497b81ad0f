// The chart of an order: the turns of its stages, when they are done, and what waits.
#include "sim/explain/order_chart.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schedule/order/step.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/points.hpp"
#include "tests/refusal.hpp"
#include "tests/schedule/orders.hpp"

namespace fourfold::tests {
namespace {

TEST(OrderChart, HasTheTurnsOfTheOrder) {
  for (const StepOptions& options :
       {with(PipelineOrder::gpipe, 5), with(PipelineOrder::one_f_one_b, 9),
        with(PipelineOrder::zero_bubble, 9), with(PipelineOrder::interleaved, 8, 3)}) {
    const OrderChart chart = chart_of(options, 4, {});

    ASSERT_EQ(chart.stages.size(), 4U);
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::vector<ChartedTurn>& turns = chart.stages[static_cast<std::size_t>(i)];
      std::size_t next = 0;
      for (const Turn& turn : order_of(options, {i, 4}).turns) {
        if (turn.micro_batch < 0) continue;
        ASSERT_LT(next, turns.size());
        EXPECT_EQ(turns[next].part, turn.part) << name(options.order) << " turn " << next;
        EXPECT_EQ(turns[next].micro_batch, turn.micro_batch) << name(options.order);
        EXPECT_EQ(turns[next].chunk, turn.chunk) << name(options.order);
        ++next;
      }
      EXPECT_EQ(next, turns.size());
    }
  }
}

// Each takes as long as its part does, stands behind the one before and behind what it needs.
void expect_in_time(PipelineOrder order) {
  const OrderChart chart = chart_of(with(order, 7), 3, {{1}, {2}, {0.5}});

  ASSERT_EQ(chart.stages.size(), 3U) << name(order);
  const std::map<StepPart, double> times{{StepPart::forward, 1.0},
                                         {StepPart::backward, 2.5},
                                         {StepPart::input_gradient, 2.0},
                                         {StepPart::weight_gradient, 0.5}};
  std::map<std::pair<StepPart, std::int64_t>, Seconds> before;  // on the stage before, by turn
  for (const std::vector<ChartedTurn>& turns : chart.stages) {
    Seconds last;
    auto own = before;
    for (const ChartedTurn& turn : turns) {
      EXPECT_GE(turn.start, last);
      last = turn.end;
      own[{turn.part, turn.micro_batch}] = turn.end;
      const double took = (turn.end - turn.start).value;
      EXPECT_NEAR(took, times.at(turn.part), 1e-9) << name(order);
      if (turn.part == StepPart::forward && !before.empty()) {
        EXPECT_GE(turn.start.value + 1e-9, before.at({turn.part, turn.micro_batch}).value);
      }
      const bool goes_back =
          turn.part == StepPart::input_gradient || turn.part == StepPart::backward;
      if (goes_back && !before.empty()) {
        EXPECT_LE(turn.end.value + took, before.at({turn.part, turn.micro_batch}).value + 1e-9);
      }
    }
    before = own;
  }
}

TEST(OrderChart, KeepsTurnsApartAndAfterWhatTheyNeed) {
  for (PipelineOrder order : {PipelineOrder::one_f_one_b, PipelineOrder::gpipe,
                              PipelineOrder::zero_bubble, PipelineOrder::message_driven}) {
    expect_in_time(order);
  }
}

TEST(OrderChart, WaitsAsTheClosedFormsSay) {
  EXPECT_NEAR(chart_of(with(PipelineOrder::one_f_one_b, 8), 4, {}).idle_share(), 3.0 / 8, 1e-9);
  EXPECT_NEAR(chart_of(with(PipelineOrder::gpipe, 8), 4, {}).idle_share(), 3.0 / 8, 1e-9);
  EXPECT_NEAR(chart_of(with(PipelineOrder::message_driven, 8), 4, {}).idle_share(), 3.0 / 8, 1e-9);
  EXPECT_NEAR(chart_of(with(PipelineOrder::interleaved, 8, 2), 4, {}).idle_share(), 3.0 / 16, 1e-9);
  EXPECT_NEAR(chart_of(with(PipelineOrder::zero_bubble, 8), 4, {}).idle_share(), 1.0 / 8, 1e-9);
}

TEST(OrderChart, OfAPointEndsWhereTheEstimateHasDoneItsMicroBatches) {
  const Point point =
      made_up_point("crossbar", {"deep", 9, 3840, 120, 2048, 51'200}, ProcessGrid(2, 1, 1, 2, 4),
                    32, with(PipelineOrder::zero_bubble, 8));
  const Platform platform = read_platform(point.platform);

  const OrderChart chart = chart_of(point, platform);

  const double seconds = estimate_step(point, platform).outcome.total.value;
  EXPECT_LT(chart.end.value, seconds) << "reductions and the update come after";
  EXPECT_GT(chart.end.value, 0.8 * seconds);
  for (const auto& turns : chart.stages) {
    std::set<std::pair<StepPart, std::int64_t>> done;
    for (const ChartedTurn& turn : turns) done.insert({turn.part, turn.micro_batch});
    EXPECT_EQ(done.size(), 24U);
  }
}

// What a backward pass waits for in the middle, once it has repeated its forward pass, is a wait.
TEST(OrderChart, OfAPointWaitsAsLongAsTheEstimate) {
  Point point;
  point.platform = "crossbar";
  point.model = {"deep", 12, 3840, 120, 512, 512};  // few words: what follows the turns is short
  point.grid = ProcessGrid(2, 1, 1, 1, 4);
  const Platform platform = read_platform(point.platform);
  for (PipelineOrder order : {PipelineOrder::one_f_one_b, PipelineOrder::gpipe}) {
    point.options = with(order, 8);
    point.global_batch = 8;

    const double idle = chart_of(point, platform).idle_share();

    const Outcome outcome = estimate_step(point, platform).outcome;
    Seconds waited;
    for (std::size_t c = 0; c < outcome.channels.size(); ++c) {
      if (outcome.channels[c].axis == Axis::pipe) waited += outcome.exposed[c];
    }
    EXPECT_NEAR(idle, waited / (outcome.total - waited), 0.03) << name(order);
    EXPECT_GT(idle, 3.0 / 8.0 - 0.03);
  }
}

TEST(OrderChart, OfAnOrderThatCannotBeIsRefusedInWords) {
  EXPECT_EQ(
      refusal<std::runtime_error>([] { chart_of(with(PipelineOrder::interleaved, 6, 2), 4, {}); }),
      "the interleaved order takes micro-batches in groups of as many as there are stages: 6 "
      "are no multiple of 4; the nearest are 4 and 8");
}

// A point is refused for all that does not fit, not for its order alone.
TEST(OrderChart, OfAPointThatDoesNotFitIsRefusedInWords) {
  Point fits;
  fits.platform = "crossbar";
  fits.model = {"tiny", 6, 240, 12, 8, 96};
  fits.grid = ProcessGrid(2, 1, 1, 1, 3);
  fits.options = with(PipelineOrder::one_f_one_b, 6);
  fits.global_batch = 12;
  std::vector<Point> others(4, fits);
  others[0].global_batch = 13;
  others[1].model.layers = 2;
  others[2].grid = ProcessGrid(5, 1, 1, 1, 3);
  others[3].options = with(PipelineOrder::interleaved, 4, 2);
  const auto said = [](const Point& point) {
    return refusal<std::runtime_error>([&] { chart_of(point, read_platform("crossbar")); });
  };

  EXPECT_EQ(said(fits), "accepted");
  for (const Point& other : others) EXPECT_NE(said(other), "accepted");
}

// Of a stage that works 2 s of 4 and one that works 3 s: idle 3 s for 5 s of work.
TEST(OrderChart, IdleShareIsIdleTimeOverWork) {
  OrderChart chart;
  EXPECT_EQ(chart.idle_share(), 0.0);
  chart.end = {4.0};
  chart.stages = {
      {{StepPart::forward, 0, 0, {1.0}, {2.0}}, {StepPart::backward, 0, 0, {3.0}, {4.0}}},
      {{StepPart::forward, 0, 0, {0.0}, {3.0}}}};

  EXPECT_DOUBLE_EQ(chart.idle_share(), 3.0 / 5.0);
}

}  // namespace
}  // namespace fourfold::tests
