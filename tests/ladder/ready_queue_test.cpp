// Message-driven pipelines on both timed rungs: stages choose alike and take the same seconds where
// nothing contends, and they lose less than a fixed order where stages or messages are slow.
#include <gtest/gtest.h>

#include <tuple>

#include "sim/conditions/conditions.hpp"
#include "sim/replay/replay.hpp"
#include "tests/ladder/points.hpp"

namespace fourfold::tests {
namespace {

Point queued_on(const std::string& platform, const ProcessGrid& grid, std::int64_t limit = 0) {
  const std::int64_t stages = grid.extent(Axis::pipe);
  Point point = point_on(platform, {"gpt-deep", 2 * stages + 1, 3840, 120, 2048, 51'200}, grid);
  point.options.order = PipelineOrder::message_driven;
  point.options.pipeline_limit = limit;
  point.options.micro_batches = 3 * stages;
  point.global_batch *= point.options.micro_batches;
  return point;
}

Outcome replayed(const Point& point) {
  return replay_step(lower(point, crossbar()), point.grid, crossbar()).outcome;
}

TEST(ReadyQueues, OfLoneDevicesAreInAllWhatTheEstimateSays) {
  for (std::int64_t stages : {2, 3, 4, 8}) {
    for (std::int64_t limit : {0, 1, 2, 5, 100}) {
      for (std::int64_t data : {1, 2}) {
        const Point point = queued_on("crossbar", {1, 1, 1, data, stages}, limit);

        const Outcome estimated = estimate_step(lower(point, crossbar()));
        const Outcome simulated = replayed(point);

        expect_equal(estimated, simulated, describe(point));
      }
    }
  }
}

TEST(ReadyQueues, PayForTheWordsOfTheOneWhoChooses) {
  const Point point = queued_on("crossbar", {2, 1, 1, 1, 4});
  TimedProgram free_words = lower(point, crossbar());
  for (TimedCollective& collective : free_words.collectives) {
    if (free_words.channels[static_cast<std::size_t>(collective.channel)].purpose != "choice") {
      continue;
    }
    collective.cost.delay = {};
    collective.cost.work = {};
    collective.uncontended = {};
  }

  const double paid = replayed(point).total.value;
  const double unpaid = replay_step(free_words, point.grid, crossbar()).outcome.total.value;

  EXPECT_GT(paid, unpaid);
  EXPECT_LT(paid, 1.01 * unpaid);
}

TEST(ReadyQueues, GoOnWhateverTheDevicesAndPortsDo) {
  const Platform& shared = crossbar("crossbar-shared");
  WhatIfs what_ifs;
  what_ifs.jitter_percent = 20.0;
  for (const ProcessGrid& grid : {ProcessGrid(2, 1, 2, 2, 4), ProcessGrid(1, 1, 1, 2, 8)}) {
    for (const std::int64_t limit : {0, 2, 24}) {
      const Point point = queued_on("crossbar-shared", grid, limit);
      const TimedProgram program = lower(point, shared);
      ReplayOptions options;
      options.jitter = jitter_of(what_ifs);

      const Replay once = replay_step(program, grid, shared, options);
      const Replay again = replay_step(program, grid, shared, options);

      EXPECT_EQ(once.outcome.total.value, again.outcome.total.value);
      EXPECT_NEAR((once.outcome.compute + once.outcome.exposed_total()).value,
                  once.outcome.total.value, 0.1 * once.outcome.total.value);
    }
  }
}

// A pipeline of 4 stages whose messages take so many times as long as a forward of a stage.
TimedProgram with_messages(const Point& point, double forwards) {
  TimedProgram program = lower(point, crossbar());
  // Forward, forward again and backward, which is two forwards: four.
  const double seconds = forwards * estimate_step(program).compute.value /
                         (4.0 * static_cast<double>(point.options.micro_batches));
  for (TimedCollective& collective : program.collectives) {
    if (collective.kind != CollectiveKind::send) continue;
    collective.cost = {{seconds}, {}, {1e12}};
    collective.uncontended = {seconds};
  }
  return program;
}

// 1f1b waits there and back for each micro-batch, a queue of 8 has others to go on with. Nine
// layers on four stages, and a head on the last one, are unequal stages even without messages.
TEST(ReadyQueues, LoseLessThanAFixedOrderToSlowMessagesAndUnequalStages) {
  for (const auto& [limit, messages, part] :
       {std::tuple{std::int64_t{8}, 1.0, 0.95}, {std::int64_t{0}, 0.0, 0.998}}) {
    Point queued = queued_on("crossbar", {1, 1, 1, 1, 4}, limit);
    queued.options.micro_batches = 32;
    queued.global_batch = 64;
    Point fixed = queued;
    fixed.options.order = PipelineOrder::one_f_one_b;
    fixed.options.pipeline_limit = 0;
    const TimedProgram program = with_messages(queued, messages);

    const double with_queue = estimate_step(program).total.value;
    const double without = estimate_step(with_messages(fixed, messages)).total.value;
    const double simulated = replay_step(program, queued.grid, crossbar()).outcome.total.value;

    EXPECT_LT(with_queue, part * without);
    EXPECT_NEAR(simulated, with_queue, 1e-6 * with_queue);
  }
}

}  // namespace
}  // namespace fourfold::tests
