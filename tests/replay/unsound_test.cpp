// What an unsound program is refused with: each sentence, and the last program on either side of
// its edge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "sim/replay/issue_stream.hpp"
#include "sim/replay/replay.hpp"
#include "tests/refusal.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

const ProcessGrid grid(2, 2, 2, 2);

// Compute, a post and a wait in two runs of two cycles.
TimedProgram sound() {
  ProgramBuilder builder;
  const std::int32_t reduce = builder.collective(on::data, 1e-3, 1e6, 1e9);
  builder.collective(on::x, 1e-3, 1e6, 1e9);
  builder.compute(1.0);
  builder.post(reduce);
  builder.run(2);
  builder.wait(on::data, 0);
  builder.cycle(3);
  builder.compute(1.0);
  return builder.take();
}

std::string said(const std::function<void(TimedProgram&)>& change) {
  TimedProgram program = sound();
  change(program);
  return refusal([&] { unroll(program, grid, Repetitions::full(program)); });
}

constexpr std::size_t compute = 0, post = 1, wait = 2;  // steps

TEST(Unsound, ProgramsAreRefusedForEachPartThatCannotBe) {
  const std::string undescribed = "The program posts a collective that it does not describe.";
  const std::string undeclared = "The program posts on a channel that it does not declare.";
  for (const auto& [collective, sentence] :
       {std::pair{0, std::string("accepted")},
        {-1, undescribed},
        {2, undescribed},
        {1, "The program posts a collective on a channel that is not its own."}}) {
    EXPECT_EQ(said([=](TimedProgram& program) { program.steps[post].collective = collective; }),
              sentence)
        << collective;
  }
  for (std::size_t step : {post, wait}) {
    for (ChannelNumber channel : {-1, 5}) {
      EXPECT_EQ(said([=](TimedProgram& program) { program.steps[step].channel = channel; }),
                undeclared)
          << step << " on " << channel;
    }
  }
  // Each with whether it is sound.
  for (const auto& [cost, sound] :
       std::vector<std::pair<CollectiveCost, bool>>{{{{0.0}, {0.0}, {1e-9}}, true},
                                                    {{{-1e-9}, {1.0}, {1.0}}, false},
                                                    {{{1.0}, {-1e-9}, {1.0}}, false},
                                                    {{{1.0}, {1.0}, {0.0}}, false},
                                                    {{{1.0}, {1.0}, {-1.0}}, false}}) {
    EXPECT_EQ(
        said([&](TimedProgram& program) { program.collectives[0].cost = cost; }),
        sound ? "accepted"
              : "The program posts a collective with a negative cost, or with a rate cap of zero.");
  }
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (double seconds : {0.0, -1e-12, infinite, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(said([=](TimedProgram& program) { program.steps[compute].duration = {seconds}; }),
              seconds == 0.0
                  ? "accepted"
                  : "The program has a compute step whose duration is not a number of seconds.");
  }
  // The third run and the second cycle, each with whether it is sound.
  using Range = std::array<std::int32_t, 3>;
  for (const auto& [run, sound] : std::vector<std::pair<Range, bool>>{{{3, 4, 1}, true},
                                                                      {{4, 4, 1}, true},
                                                                      {{3, 5, 1}, false},
                                                                      {{-1, 1, 1}, false},
                                                                      {{4, 3, 1}, false},
                                                                      {{3, 4, 0}, false}}) {
    const auto [first, last, repeats] = run;
    EXPECT_EQ(said([=](TimedProgram& program) {
                program.runs[2] = {first, last, repeats};
              }),
              sound ? "accepted"
                    : "A run of the program names steps that do not exist, or has no repetition.");
    EXPECT_EQ(said([=](TimedProgram& program) {
                program.cycles[1] = {first - 1, last - 1, repeats};
              }),
              sound ? "accepted"
                    : "A cycle of the program names runs that do not exist, or has no repetition.");
  }
}

// The last of two posts, the first, and one that is not there; of those that nobody waited for the
// first.
TEST(Unsound, WaitsAreForWhatWasPosted) {
  const auto back = [](std::int32_t posts) {
    return said([=](TimedProgram& program) { program.steps[wait].back = posts; });
  };
  const std::string nothing =
      "The program waits for a collective on channel data that it has not posted.";

  EXPECT_EQ(back(0), "accepted");
  EXPECT_EQ(back(1), "accepted");
  EXPECT_EQ(back(2), nothing);
  EXPECT_EQ(back(oldest_post), "accepted");
  EXPECT_EQ(back(-2), "The program waits for a collective of the future.");
  EXPECT_EQ(said([](TimedProgram& program) {
              program.steps[wait].back = oldest_post;
              program.runs[1].repeats = 2;
            }),
            "accepted");
  EXPECT_EQ(said([](TimedProgram& program) {
              program.steps[wait].back = oldest_post;
              program.runs[1].repeats = 3;
            }),
            nothing);
}

// A channel whose groups have one member carries nothing, whatever is said of it.
TEST(Unsound, ChannelsWithoutPartnersAreNotLookedAt) {
  TimedProgram program = sound();
  program.steps[post].collective = 7;
  program.steps[wait].back = 9;
  const ProcessGrid alone(2, 2, 2, 1);

  EXPECT_EQ(refusal([&] { unroll(program, alone, Repetitions::full(program)); }), "accepted");
}

TEST(Unsound, StagesFollowEachOtherAndAreThoseOfTheGrid) {
  const auto of = [](const std::vector<StageCycles>& stages, std::int64_t pipe) {
    TimedProgram program = sound();
    program.stages = stages;
    return refusal([&] { refuse_unsound(program, ProcessGrid(2, 2, 2, 2, pipe)); });
  };
  const std::string sentence =
      "A stage of the program names cycles that do not exist, or that are another stage's.";

  EXPECT_EQ(of({{0, 1}, {1, 2}}, 2), "accepted");
  EXPECT_EQ(of({{0, 0}, {0, 2}}, 2), "accepted");
  EXPECT_EQ(of({{1, 2}}, 1), sentence);
  EXPECT_EQ(of({{0, 1}, {0, 2}}, 2), sentence);
  EXPECT_EQ(of({{0, 1}, {2, 2}}, 2), sentence);
  EXPECT_EQ(of({{0, 1}, {1, 0}}, 2), sentence);
  EXPECT_EQ(of({{0, 1}, {1, 3}}, 2), sentence);
  EXPECT_EQ(of({}, 2), "The program has 1 stages, but the grid " +
                           ProcessGrid(2, 2, 2, 2, 2).str() + " has 2.");
  EXPECT_EQ(of({{0, 1}, {1, 2}}, 1), "The program has 2 stages, but the grid 2x2x2x2 has 1.");
}

// Two stages that send each other something, a message and back.
struct Pair {
  TimedProgram program;

  Pair() {
    program.channels = {forward_from(0, 2)};
    program.collectives = {{0, CollectiveKind::send, {{1.0}, {10.0}, {5.0}}, {3.0}},
                           {0, CollectiveKind::send, {{1.0}, {10.0}, {5.0}}, {3.0}}};
    for (std::int32_t stage : {0, 1}) {
      program.steps.push_back({StepKind::post, 0, stage, 0, {}});
      program.steps.push_back({StepKind::wait, 0, -1, 0, {}});
      program.runs.push_back({2 * stage, 2 * stage + 2, 1});
      program.cycles.push_back({stage, stage + 1, 1});
      program.stages.push_back({stage, stage + 1});
    }
  }
  std::string said() const {
    return refusal(
        [this] { unroll(program, ProcessGrid(1, 1, 1, 1, 2), Repetitions::full(program)); });
  }
};

TEST(Unsound, StagesPostTheSameOnTheirChannels) {
  const std::string sentence =
      "Stages 0 and 1 do not post the same on channel pipe_forward_even: what one sends the other "
      "one must receive.";
  EXPECT_EQ(Pair().said(), "accepted");
  Pair other;
  other.program.collectives[1].cost.delay = {2.0};
  EXPECT_EQ(other.said(), sentence);
  other = {};
  other.program.collectives[1].cost.work = {11.0};
  EXPECT_EQ(other.said(), sentence);
  other = {};
  other.program.collectives[1].cost.rate_cap = {6.0};
  EXPECT_EQ(other.said(), sentence);
  for (std::size_t stage : {0, 1}) {  // one of them posts once more
    other = {};
    other.program.runs[stage].repeats = 2;
    EXPECT_EQ(other.said(), sentence) << stage;
    other = {};  // or nothing
    other.program.cycles[stage].last = other.program.cycles[stage].first;
    EXPECT_EQ(other.said(), sentence) << stage;
  }
}

TEST(Unsound, AStageWithoutPartnerPostsNothing) {
  TimedProgram program = Pair().program;
  program.cycles.push_back({0, 1, 1});
  program.stages.push_back({2, 3});
  program.channels = {forward_from(0, 3)};  // of the first two

  EXPECT_EQ(
      refusal([&] { unroll(program, ProcessGrid(1, 1, 1, 1, 3), Repetitions::full(program)); }),
      "Stage 2 posts on pipe_forward_even, where it has no partner.");
}

// Each waits for the message of the other before it sends its own.
TEST(Unsound, StagesThatWaitForEachOtherForEverAreNamed) {
  TimedProgram program;
  program.channels = {backward_from(1), forward_from(0, 2)};
  for (ChannelNumber channel : {0, 1}) {
    program.collectives.push_back({channel, CollectiveKind::send, {{1.0}, {}, {5.0}}, {1.0}});
  }
  for (std::int32_t stage : {0, 1}) {
    const std::int32_t own = stage == 0 ? 1 : 0;
    for (std::int32_t channel : {1 - own, own}) {
      program.steps.push_back({StepKind::post, channel, channel, 0, {}});
      program.steps.push_back({StepKind::wait, channel, -1, 0, {}});
    }
    program.runs.push_back({4 * stage, 4 * stage + 4, 1});
    program.cycles.push_back({stage, stage + 1, 1});
    program.stages.push_back({stage, stage + 1});
  }

  EXPECT_THAT(
      refusal([&] { replay_step(program, ProcessGrid(1, 1, 1, 1, 2), read_platform("crossbar")); }),
      HasSubstr("The stages of the pipeline wait for each other for ever"));
}

}  // namespace
}  // namespace fourfold::tests
