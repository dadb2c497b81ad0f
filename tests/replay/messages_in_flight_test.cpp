// Messages and collectives that queue on their channels: what is bubble, as the estimate has it,
// and waits that reach far back.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "sim/estimate/estimate.hpp"
#include "sim/replay/replay.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

const Platform& crossbar() {
  static const Platform platform = read_platform("crossbar");
  return platform;
}

// Two stages: the first sends `count` messages of 5 s after `late` seconds, the second one waits
// for the last of them after 1 s of compute.
TimedProgram sending(std::int32_t count, double late) {
  TimedProgram program;
  program.channels = {forward_from(0, 2)};
  for (std::int32_t stage : {0, 1}) {
    const auto first = static_cast<std::int32_t>(program.steps.size());
    program.collectives.push_back({0, CollectiveKind::send, {{5.0}, {}, {1.0}}, {5.0}});
    program.steps.push_back({StepKind::compute, 0, -1, 0, {stage == 0 ? late : 1.0}});
    for (std::int32_t i = 0; i < count; ++i) {
      program.steps.push_back({StepKind::post, 0, stage, 0, {}});
    }
    program.steps.push_back({StepKind::wait, 0, -1, 0, {}});
    program.runs.push_back({first, static_cast<std::int32_t>(program.steps.size()), 1});
    program.cycles.push_back({stage, stage + 1, 1});
    program.stages.push_back({stage, stage + 1});
  }
  return program;
}

TEST(Bubble, IsWhatTheEstimateHas) {
  for (std::int32_t count : {1, 2, 3}) {
    for (double late : {0.0, 1.0, 3.0, 30.0}) {
      const TimedProgram program = sending(count, late);

      const Outcome replayed = replay_step(program, {1, 1, 1, 1, 2}, crossbar()).outcome;

      const Outcome expected = estimate_step(program);
      EXPECT_NEAR(replayed.total.value, expected.total.value, 1e-9);
      EXPECT_NEAR(replayed.bubble.value, expected.bubble.value, 1e-9) << count << " " << late;
      EXPECT_NEAR(replayed.exposed[0].value, expected.exposed[0].value, 1e-9);
      EXPECT_NEAR(replayed.busy[0].value, expected.busy[0].value, 1e-9);
    }
  }
}

// Collectives of 1 s, posted together; at 5.7 s, when five are done, the first one is waited for.
// The 5.5 s of compute beside it let it run at a tenth of its speed: it ends 4.95 s later than it
// seems.
TEST(Waits, RememberWhenACollectiveEndedHoweverFarBackItIs) {
  for (std::int32_t back = 0; back < 20; ++back) {
    ProgramBuilder builder;
    const std::int32_t reduce = builder.collective(on::data, 1.0, 0.0, 1.0);
    builder.interference(0.0, 0.9);
    const std::int32_t other = builder.collective(on::x, 0.2, 0.0, 1.0);
    for (std::int32_t i = 0; i <= back; ++i) builder.post(reduce);
    builder.compute(5.5);
    builder.post(other);
    builder.wait(on::x, 0);
    builder.wait(on::data, back);
    builder.run(1);
    builder.cycle(1);

    const Outcome outcome = replay_step(builder.take(), {2, 1, 1, 4}, crossbar()).outcome;

    EXPECT_NEAR(outcome.total.value, 5.95, 1e-9) << back;
    EXPECT_NEAR(outcome.exposed[on::data].value, 0.25, 1e-9) << back;
  }
}

// Of more stages than are logged those that lie evenly between the first and the last.
TEST(Logs, OfManyStagesAreOfThirtyTwo) {
  for (std::int64_t stages : {2, 31, 32, 33, 40, 64}) {
    Point point;
    point.platform = "crossbar";
    point.model = {"thin", stages, 48, 12, 8, 96};
    point.grid = ProcessGrid(2, 1, 1, 1, stages);
    point.options.micro_batches = 2;
    point.global_batch = 2;
    ReplayOptions options;
    options.detail = DetailWanted::timeline;
    std::set<std::int64_t> expected{0, stages, 2 * stages - 1};  // ends and middle
    const std::int64_t shown = std::min<std::int64_t>(stages, 32);
    for (std::int64_t i = 0; i < shown; ++i) expected.insert(2 * (i * stages / shown));

    const Replay found = replay_step(lower(point, crossbar()), point.grid, crossbar(), options);

    std::vector<std::int64_t> ranks;
    for (const DeviceTimeline& one : found.detail->timelines) ranks.push_back(one.rank);
    EXPECT_EQ(ranks, std::vector<std::int64_t>(expected.begin(), expected.end())) << stages;
  }
}

}  // namespace
}  // namespace fourfold::tests
