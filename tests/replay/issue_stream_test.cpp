// Unrolling: numbers of collectives, weights of segments, interference, refusals.
#include "sim/replay/issue_stream.hpp"

#include <gtest/gtest.h>

#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

const ProcessGrid grid(2, 2, 2, 2);

// What has been built, as one run.
IssueStream stream_of(ProgramBuilder& builder, std::int64_t repeats = 1,
                      const ProcessGrid& on = grid) {
  builder.run(repeats);
  const TimedProgram program = builder.take();
  return unroll(program, on, Repetitions::full(program)).front();
}

TEST(IssueStream, NumbersCollectivesByChannelAndFindsThemFromBehind) {
  ProgramBuilder builder;
  const std::int32_t x = builder.collective(on::x, 0.0, 1.0, 1.0);
  const std::int32_t y = builder.collective(on::y, 0.0, 1.0, 1.0);
  builder.post(x);
  builder.post(y);
  builder.post(x);
  builder.wait(on::x, 1);

  const IssueStream stream = stream_of(builder, 2);

  ASSERT_EQ(stream.operations.size(), 9u);
  EXPECT_EQ(stream.posts[on::x].size(), 4u);
  EXPECT_EQ(stream.operations[3].number, 0);  // the wait of the first round: x has 0 and 1
  EXPECT_EQ(stream.operations[7].number, 2);  // of the second: x has 0 to 3
  EXPECT_EQ(stream.operations[8].kind, Operation::Kind::mark);
}

// Posts 0 and 1, then a wait for the second, the first and what is left, each time anew.
TEST(IssueStream, TheOldestPostIsTheFirstBehindAllThatWereWaitedFor) {
  ProgramBuilder builder;
  const std::int32_t x = builder.collective(on::x, 0.0, 1.0, 1.0);
  builder.post(x);
  builder.post(x);
  builder.wait(on::x, 0);
  builder.wait(on::x, 1);
  builder.post(x);
  builder.post(x);
  builder.wait(on::x, oldest_post);
  builder.wait(on::x, oldest_post);

  const IssueStream stream = stream_of(builder, 2);

  std::vector<std::int32_t> waits;
  for (const Operation& operation : stream.operations) {
    if (operation.kind == Operation::Kind::wait) waits.push_back(operation.number);
  }
  EXPECT_EQ(waits, (std::vector<std::int32_t>{1, 0, 2, 3, 5, 4, 6, 7}));
}

// Of two collectives in flight each is charged for the compute since its own post.
TEST(IssueStream, ChargesEachCollectiveForTheComputeSinceItsOwnPost) {
  ProgramBuilder builder;
  const std::int32_t x = builder.collective(on::x, 0.0, 100.0, 1.0);
  builder.interference(0.5);
  builder.post(x);
  builder.compute(3.0);
  builder.post(x);
  builder.compute(1.0);
  builder.wait(on::x, 1);  // 4 s beside the first one, at half their speed
  builder.wait(on::x, 0);  // 1 s beside the second one, and the 4 s that were charged

  const IssueStream stream = stream_of(builder);

  EXPECT_DOUBLE_EQ(stream.operations[2].compute.value, 1.0 + 4.0);
  EXPECT_DOUBLE_EQ(stream.operations[3].compute.value, 5.0);
}

TEST(IssueStream, WeighsTheLastRepetitionOfACutLoopForAllThatAreLeftOut) {
  ProgramBuilder builder;
  builder.compute(1.0);
  builder.run(10);
  builder.compute(5.0);
  builder.cycle(4);
  const TimedProgram program = builder.take();
  Repetitions cut = Repetitions::full(program);
  cut.runs[0] = 3;
  cut.cycles[0] = 2;

  const IssueStream stream = unroll(program, grid, cut).front();

  // 10 = 1 + 1 + 8 layers, 4 = 1 + 3 micro-batches.
  ASSERT_EQ(stream.segments.size(), 8u);
  const std::vector<double> expected{1, 1, 8, 1, 3, 3, 24, 3};
  double compute = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(stream.segments[i].weight, expected[i]);
    compute += stream.segments[i].weight * stream.segments[i].compute.value;
  }
  EXPECT_DOUBLE_EQ(compute, 4 * (10 * 1.0 + 5.0));
}

}  // namespace
}  // namespace fourfold::tests
