// Pipelines on both timed rungs: what chunks, messages in a shared port, and a slow stage cost, and
// which stages do not fit together. That both say the same seconds is in crossbar_test.cpp.
#include <gtest/gtest.h>

#include "sim/replay/replay.hpp"
#include "tests/ladder/points.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

// Two layers a stage, and one more than can be dealt out evenly.
Point pipeline_on(const std::string& platform, const ProcessGrid& grid) {
  const std::int64_t stages = grid.extent(Axis::pipe);
  Point point = point_on(platform, {"gpt-deep", 2 * stages + 1, 3840, 120, 2048, 51'200}, grid);
  point.options.order = PipelineOrder::one_f_one_b;
  point.options.micro_batches = 2 * stages;
  point.global_batch *= point.options.micro_batches;
  return point;
}

// A stage computes as much in chunks as at once, and waits less at the ends of the step. What
// chunks may add are messages: one at most before each chunk on the longest way through the step.
TEST(Pipelines, OfForwardPassesAloneAreSlowerInChunksByMessagesAtMost) {
  const auto seconds = [](const TimedProgram& program) {
    return estimate_step(program).total.value;
  };
  for (const ProcessGrid& grid :
       {ProcessGrid(1, 1, 1, 1, 2), ProcessGrid(2, 1, 2, 2, 2), ProcessGrid(1, 1, 3, 2, 3),
        ProcessGrid(2, 2, 1, 1, 4), ProcessGrid(2, 1, 1, 2, 8)}) {
    const std::int64_t stages = grid.extent(Axis::pipe);
    for (Phase phase : {Phase::evaluation, Phase::prefill, Phase::decode}) {
      for (std::int64_t chunks : {2, 4}) {
        for (std::int64_t groups : {1, 3}) {
          Point whole = pipeline_on("crossbar", grid);
          whole.model.layers = stages * chunks;
          whole.options.phase = phase;
          whole.global_batch *= groups;
          whole.options.micro_batches *= groups;
          Point chunked = whole;
          chunked.options.order = PipelineOrder::interleaved;
          chunked.options.chunks = chunks;
          const TimedProgram program = lower(chunked, crossbar());
          double message = 0.0;
          for (const TimedCollective& collective : program.collectives) {
            if (collective.kind != CollectiveKind::send) continue;
            message = std::max(message, collective.uncontended.value);
          }
          const std::int64_t messages = whole.options.micro_batches * chunks + stages - 1;

          EXPECT_LE(seconds(program),
                    seconds(lower(whole, crossbar())) + static_cast<double>(messages) * message)
              << describe(chunked);
        }
      }
    }
  }
}

TEST(Pipelines, AreSlowerWhereMessagesMeetOtherTrafficInAPort) {
  const Platform& shared = crossbar("crossbar-shared");
  const Point point = pipeline_on("crossbar-shared", ProcessGrid(2, 2, 2, 2, 4));
  const TimedProgram program = lower(point, shared);

  const double estimated = estimate_step(program).total.value;
  const double simulated = replay_step(program, point.grid, shared).outcome.total.value;

  EXPECT_GT(simulated, estimated * 1.001);
}

TEST(Pipelines, SlowWithASlowDeviceOnAnyOfTheirStages) {
  const Point point = pipeline_on("crossbar", ProcessGrid(2, 1, 1, 2, 4));
  const TimedProgram program = lower(point, crossbar());
  const Outcome whole = replay_step(program, point.grid, crossbar()).outcome;
  const double sound = whole.total.value;
  for (std::int64_t rank = 0; rank < point.grid.size(); rank += 5) {
    ReplayOptions options;
    options.compute_factors.assign(static_cast<std::size_t>(point.grid.size()), 1.0);
    options.compute_factors[static_cast<std::size_t>(rank)] = 1.5;

    const Outcome outcome = replay_step(program, point.grid, crossbar(), options).outcome;
    const double slow = outcome.total.value;

    EXPECT_GT(slow, 1.01 * sound) << "rank " << rank;
    EXPECT_LT(slow, 1.5 * sound) << "rank " << rank;
    // Of 16 devices one computes half as long again, whichever stage it is on.
    EXPECT_GT(outcome.compute.value, (1.0 + 0.25 / 16) * whole.compute.value) << "rank " << rank;
  }
}

// Two stages that meet on these channels, one after the other: each posts and waits.
TimedProgram two_stages(const std::vector<ChannelNumber>& first,
                        const std::vector<ChannelNumber>& second) {
  TimedProgram program;
  program.channels = {backward_from(1), forward_from(0, 2)};
  for (ChannelNumber channel : {0, 1}) {
    program.collectives.push_back(
        {channel, CollectiveKind::send, {{1e-6}, {1e6}, {1e10}}, {1e-6 + 1e-4}});
  }
  for (const std::vector<ChannelNumber>& stage : {first, second}) {
    const auto begin = static_cast<std::int32_t>(program.steps.size());
    for (ChannelNumber channel : stage) {
      program.steps.push_back({StepKind::compute, 0, -1, 0, {1e-3}});
      program.steps.push_back({StepKind::post, channel, channel, 0, {}});
      program.steps.push_back({StepKind::wait, channel, -1, 0, {}});
    }
    const auto number = static_cast<std::int32_t>(program.stages.size());
    program.runs.push_back({begin, static_cast<std::int32_t>(program.steps.size()), 1});
    program.cycles.push_back({number, number + 1, 1});
    program.stages.push_back({number, number + 1});
  }
  return program;
}

TEST(Pipelines, ThatWaitForEachOtherForEverAreRefused) {
  for (Carrier carrier : {Carrier::flows, Carrier::stock_edges}) {
    const auto refused = [&](const TimedProgram& program) {
      ReplayOptions options;
      options.carrier = carrier;
      options.quantum = Seconds{1e-9};
      return refusal([&] { replay_step(program, {1, 1, 1, 1, 2}, crossbar(), options); });
    };
    EXPECT_EQ(refused(two_stages({1, 0}, {1, 0})), "accepted");
    EXPECT_EQ(refused(two_stages({1, 0}, {0, 1})),
              "The stages of the pipeline wait for each other for ever: a send or a receive of the "
              "order stands in the wrong place.");
  }
}

}  // namespace
}  // namespace fourfold::tests
