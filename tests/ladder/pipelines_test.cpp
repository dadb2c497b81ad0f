// Pipelines on both timed rungs: the same seconds where nothing contends, no fewer where channels
// share a port, and what a slow stage does to the others.
#include <gtest/gtest.h>

#include "schedule/models/fit.hpp"
#include "sim/conditions/conditions.hpp"
#include "sim/replay/replay.hpp"
#include "tests/ladder/points.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

const Platform& platform(const std::string& name) {
  static const Platform own = read_platform("crossbar");
  static const Platform shared = read_platform("crossbar-shared");
  return name == "crossbar" ? own : shared;
}

// Two layers a chunk, and one more than can be dealt out evenly.
Point pipeline_on(const std::string& platform, const ProcessGrid& grid, PipelineOrder order,
                  std::int64_t chunks = 1) {
  const std::int64_t stages = grid.extent(Axis::pipe);
  Point point =
      point_on(platform, {"gpt-deep", 2 * stages * chunks + 1, 3840, 120, 2048, 51'200}, grid);
  point.options.order = order;
  point.options.chunks = chunks;
  point.options.micro_batches = 2 * stages;
  point.global_batch *= point.options.micro_batches;
  return point;
}

std::vector<Point> orders_on(const std::string& platform, const ProcessGrid& grid) {
  return {pipeline_on(platform, grid, PipelineOrder::gpipe),
          pipeline_on(platform, grid, PipelineOrder::one_f_one_b),
          pipeline_on(platform, grid, PipelineOrder::zero_bubble),
          pipeline_on(platform, grid, PipelineOrder::interleaved, 2),
          pipeline_on(platform, grid, PipelineOrder::interleaved, 3)};
}

void expect_equal(const Outcome& estimated, const Outcome& simulated, const std::string& what) {
  const double tolerance = 1e-6 * estimated.total.value;
  EXPECT_NEAR(estimated.total.value, simulated.total.value, tolerance) << what;
  EXPECT_NEAR(estimated.compute.value, simulated.compute.value, tolerance) << what;
  EXPECT_NEAR(estimated.bubble.value, simulated.bubble.value, tolerance) << what;
  ASSERT_EQ(estimated.channels, simulated.channels);
  for (std::size_t c = 0; c < estimated.channels.size(); ++c) {
    EXPECT_NEAR(estimated.exposed[c].value, simulated.exposed[c].value, tolerance)
        << name(estimated.channels[c]) << ' ' << what;
    EXPECT_NEAR(estimated.busy[c].value, simulated.busy[c].value, tolerance)
        << name(estimated.channels[c]) << ' ' << what;
  }
}

void compare_on_private_ports(const Point& point) {
  const TimedProgram program = lower(point, platform("crossbar"));

  ReplayOptions options;
  options.mapping = mapping_of(point, platform("crossbar"));

  const Outcome estimated = estimate_step(program);
  const Outcome simulated = replay_step(program, point.grid, platform("crossbar"), options).outcome;

  expect_equal(estimated, simulated, describe(point));
}

TEST(Pipelines, EqualTheEstimateInEveryOrder) {
  for (const ProcessGrid& grid :
       {ProcessGrid(1, 1, 1, 1, 2), ProcessGrid(2, 2, 2, 1, 2), ProcessGrid(1, 1, 1, 1, 4),
        ProcessGrid(2, 3, 1, 2, 4), ProcessGrid(2, 1, 2, 2, 8), ProcessGrid(1, 1, 3, 2, 3)}) {
    for (const Point& point : orders_on("crossbar", grid)) compare_on_private_ports(point);
  }
}

// Phases that train nothing, too: what waits for what is the same on both rungs.
TEST(Pipelines, OfForwardPassesAloneEqualTheEstimate) {
  for (const ProcessGrid& grid : {ProcessGrid(2, 2, 2, 1, 1), ProcessGrid(2, 1, 2, 2, 2),
                                  ProcessGrid(1, 1, 3, 2, 3), ProcessGrid(2, 1, 1, 2, 8)}) {
    for (Phase phase : {Phase::evaluation, Phase::prefill, Phase::decode}) {
      for (Point point : orders_on("crossbar", grid)) {
        if (!order_misfit(point.options, grid.extent(Axis::pipe)).empty()) continue;
        point.options.phase = phase;
        compare_on_private_ports(point);
        point.options.overlap.messages = false;
        compare_on_private_ports(point);
      }
    }
  }
}

// A stage computes as much in chunks as at once, and waits less at the ends of the step. What chunks
// may add are messages: one at most before each chunk on the longest way through the step.
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
          Point whole = pipeline_on("crossbar", grid, PipelineOrder::one_f_one_b);
          whole.model.layers = stages * chunks;
          whole.options.phase = phase;
          whole.global_batch *= groups;
          whole.options.micro_batches *= groups;
          Point chunked = whole;
          chunked.options.order = PipelineOrder::interleaved;
          chunked.options.chunks = chunks;
          const TimedProgram program = lower(chunked, platform("crossbar"));
          double message = 0.0;
          for (const TimedCollective& collective : program.collectives) {
            if (collective.kind != CollectiveKind::send) continue;
            message = std::max(message, collective.uncontended.value);
          }
          const std::int64_t messages = whole.options.micro_batches * chunks + stages - 1;

          EXPECT_LE(seconds(program), seconds(lower(whole, platform("crossbar"))) +
                                          static_cast<double>(messages) * message)
              << describe(chunked);
        }
      }
    }
  }
}

// As Llama 3 405B ran: 126 layers on 128 chunks, the first and the last with none.
TEST(Pipelines, EqualTheEstimateWhereTheEndsHaveNoLayer) {
  for (const ProcessGrid& grid : {ProcessGrid(1, 1, 1, 1, 2), ProcessGrid(2, 1, 2, 2, 4)}) {
    for (const std::int64_t chunks : {2, 4}) {
      Point point = pipeline_on("crossbar", grid, PipelineOrder::interleaved, chunks);
      point.model.layers = grid.extent(Axis::pipe) * chunks - 2;
      compare_on_private_ports(point);
    }
  }
}

TEST(Pipelines, EqualTheEstimateWithoutOverlap) {
  const ProcessGrid grid(2, 1, 2, 2, 4);
  for (Point point : orders_on("crossbar", grid)) {
    point.options.overlap.messages = false;
    compare_on_private_ports(point);
    point.options.overlap = {false, false, false, false, false};
    compare_on_private_ports(point);
  }
}

TEST(Pipelines, EqualTheEstimateWithWeightsKeptAndGradientsSummed) {
  for (Point point : orders_on("crossbar", ProcessGrid(1, 2, 2, 2, 4))) {
    point.options.weight_gather = WeightGather::keep;
    point.options.gradient_reduction = GradientReduction::accumulated;
    point.options.data_reduction = DataReduction::beside_backward;
    compare_on_private_ports(point);
  }
}

TEST(Pipelines, EqualTheEstimateWhereverTheirRanksLie) {
  for (const char* order : {"x,y,z,pipe,data", "pipe,data,z,y,x"}) {
    for (Point point : orders_on("crossbar", ProcessGrid(2, 1, 2, 2, 4))) {
      point.options.rank_order = RankOrder::parse(order);
      compare_on_private_ports(point);
    }
  }
}

TEST(Pipelines, EqualTheEstimateWithBucketsAlongData) {
  for (Point point : orders_on("crossbar", ProcessGrid(1, 1, 2, 4, 4))) {
    for (std::int64_t zero : {0, 1, 2, 3}) {
      point.options.zero = zero;
      point.options.data_bucket = 2 * 12 * std::int64_t{3840} * 3840;
      point.options.data_reduction =
          zero % 2 == 0 ? DataReduction::beside_backward : DataReduction::after_backward;
      compare_on_private_ports(point);
    }
  }
}

TEST(Pipelines, EqualTheEstimateWithMessagesCut) {
  for (const ProcessGrid& grid : {ProcessGrid(2, 2, 1, 2, 4), ProcessGrid(4, 1, 1, 1, 2)}) {
    for (Point point : orders_on("crossbar", grid)) {
      point.options.cut_messages = true;
      compare_on_private_ports(point);
      point.options.sequence_parallel = true;
      compare_on_private_ports(point);
    }
  }
}

TEST(Pipelines, AreNoFasterThanTheEstimateOnASharedPort) {
  const Platform& shared = platform("crossbar-shared");
  for (const ProcessGrid& grid : {ProcessGrid(2, 1, 2, 2, 2), ProcessGrid(1, 2, 2, 2, 4)}) {
    for (const Point& point : orders_on("crossbar-shared", grid)) {
      const TimedProgram program = lower(point, shared);

      const double estimated = estimate_step(program).total.value;
      const double simulated = replay_step(program, grid, shared).outcome.total.value;

      EXPECT_GE(simulated, estimated * (1.0 - 1e-9)) << describe(point);
    }
  }
}

TEST(Pipelines, AreSlowerWhereMessagesMeetOtherTrafficInAPort) {
  const Platform& shared = platform("crossbar-shared");
  const Point point =
      pipeline_on("crossbar-shared", ProcessGrid(2, 2, 2, 2, 4), PipelineOrder::one_f_one_b);
  const TimedProgram program = lower(point, shared);

  const double estimated = estimate_step(program).total.value;
  const double simulated = replay_step(program, point.grid, shared).outcome.total.value;

  EXPECT_GT(simulated, estimated * 1.001);
}

TEST(Pipelines, GiveTheSameBitsAgain) {
  const Platform& shared = platform("crossbar-shared");
  for (const Point& point : orders_on("crossbar-shared", ProcessGrid(2, 1, 2, 2, 4))) {
    const TimedProgram program = lower(point, shared);

    const Replay once = replay_step(program, point.grid, shared);
    const Replay again = replay_step(program, point.grid, shared);

    EXPECT_EQ(once.outcome.total.value, again.outcome.total.value) << describe(point);
    EXPECT_EQ(once.events, again.events) << describe(point);
  }
}

TEST(Pipelines, SlowWithASlowDeviceOnAnyOfTheirStages) {
  const Point point =
      pipeline_on("crossbar", ProcessGrid(2, 1, 1, 2, 4), PipelineOrder::one_f_one_b);
  const TimedProgram program = lower(point, platform("crossbar"));
  const Outcome whole = replay_step(program, point.grid, platform("crossbar")).outcome;
  const double sound = whole.total.value;
  for (std::int64_t rank = 0; rank < point.grid.size(); rank += 5) {
    ReplayOptions options;
    options.compute_factors.assign(static_cast<std::size_t>(point.grid.size()), 1.0);
    options.compute_factors[static_cast<std::size_t>(rank)] = 1.5;

    const Outcome outcome = replay_step(program, point.grid, platform("crossbar"), options).outcome;
    const double slow = outcome.total.value;

    EXPECT_GT(slow, 1.01 * sound) << "rank " << rank;
    EXPECT_LT(slow, 1.5 * sound) << "rank " << rank;
    // Of 16 devices one computes half as long again, whichever stage it is on.
    EXPECT_GT(outcome.compute.value, (1.0 + 0.25 / 16) * whole.compute.value) << "rank " << rank;
  }
}

TEST(Pipelines, AreSlowerWithJitter) {
  const Point point =
      pipeline_on("crossbar", ProcessGrid(2, 1, 1, 2, 4), PipelineOrder::one_f_one_b);
  const TimedProgram program = lower(point, platform("crossbar"));
  WhatIfs what_ifs;
  what_ifs.jitter_percent = 5.0;
  ReplayOptions options;
  options.jitter = jitter_of(what_ifs);

  const double sound = replay_step(program, point.grid, platform("crossbar")).outcome.total.value;
  const double jittered =
      replay_step(program, point.grid, platform("crossbar"), options).outcome.total.value;

  EXPECT_GT(jittered, 1.005 * sound);
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

std::string refusal_of(const TimedProgram& program, Carrier carrier) {
  ReplayOptions options;
  options.carrier = carrier;
  options.quantum = Seconds{1e-9};
  return refusal(
      [&] { replay_step(program, ProcessGrid(1, 1, 1, 1, 2), platform("crossbar"), options); });
}

TEST(Pipelines, ThatWaitForEachOtherForEverAreRefused) {
  const TimedProgram sound = two_stages({1, 0}, {1, 0});
  const TimedProgram crossed = two_stages({1, 0}, {0, 1});

  const std::string why =
      "The stages of the pipeline wait for each other for ever: a send or a receive of the order "
      "stands in the wrong place.";
  EXPECT_EQ(refusal_of(sound, Carrier::flows), "accepted");
  EXPECT_EQ(refusal_of(crossed, Carrier::flows), why);
  EXPECT_EQ(refusal_of(crossed, Carrier::stock_edges), why);
}

TEST(Pipelines, WithAMessageThatNobodyReceivesAreRefused) {
  EXPECT_EQ(refusal_of(two_stages({1, 1}, {1}), Carrier::flows),
            "Stages 0 and 1 do not post the same on channel pipe_forward_even: what one sends the "
            "other one must receive.");
}

TEST(Pipelines, OfOtherStagesThanTheGridAreRefused) {
  EXPECT_EQ(
      refusal([] {
        replay_step(two_stages({1, 0}, {1, 0}), ProcessGrid(2, 1, 1, 1), platform("crossbar"));
      }),
      "The program has 2 stages, but the grid 2x1x1x1 has 1.");
}

TEST(Pipelines, TakeTheirMessagesOneWay) {
  for (const char* name : {"perlmutter", "polaris", "frontier", "alps"}) {
    const Platform machine = read_platform(name);
    const std::int64_t per_node = machine.node.devices;
    for (const ProcessGrid& grid :
         {ProcessGrid(1, 1, 1, 1, 2), ProcessGrid(per_node, 1, 1, 1, 2)}) {
      ReplayOptions options;
      options.detail = DetailWanted::explanation;
      const TimedProgram there = two_stages({1}, {1});
      const TimedProgram back = two_stages({0}, {0});

      const Replay forward = replay_step(there, grid, machine, options);
      const Replay backward = replay_step(back, grid, machine, options);

      const auto bytes = [](const Replay& replay) {
        double sum = 0.0;
        for (const LinkUse& use : replay.detail->links) sum += use.bytes.value;
        return sum;
      };
      EXPECT_GT(bytes(forward), 0.0);
      EXPECT_NEAR(bytes(forward), bytes(backward), 1e-6 * bytes(forward)) << name;
      for (const LinkUse& use : forward.detail->links) {
        if (use.link_class != "NIC") continue;
        // Out at the sender's, in at the receiver's.
        EXPECT_NEAR(use.bytes.value, 2.0 * 1e6 * static_cast<double>(per_node), 1.0) << name;
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
