// What groups are expected to wait for their last member does not depend on how a program writes
// its loops: as one body that repeats, or step by step.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/cost/order_statistics.hpp"
#include "sim/cost/waiting.hpp"

namespace fourfold::tests {
namespace {

constexpr Seconds repetition{0.03}, compute{1.0};
const ProcessGrid four(1, 1, 1, 4);

// `loops` x `repeats` kernels, then a collective along data that is waited for; `repeats` of them
// written one after the other, or as one that is done so often.
struct Loops {
  std::int64_t cycles = 1, repeats = 1;
  bool written_out = false;
};

TimedProgram program_of(const Loops& loops) {
  TimedProgram program;
  program.channels = {{Axis::data, ""}};
  const auto run = [&](std::int64_t kernels, std::int64_t repeats) {
    const auto first = static_cast<std::int32_t>(program.steps.size());
    for (std::int64_t i = 0; i < kernels; ++i) {
      program.steps.push_back({StepKind::compute, 0, -1, 0, compute});
      program.variations.push_back({{}, {}, repetition});
    }
    program.runs.push_back({first, static_cast<std::int32_t>(program.steps.size()), repeats});
  };
  const std::int64_t all = loops.cycles * loops.repeats;
  run(loops.written_out ? all : 1, loops.written_out ? 1 : loops.repeats);
  program.cycles.push_back({0, 1, loops.written_out ? 1 : loops.cycles});
  program.collectives.push_back({0, CollectiveKind::all_reduce, {}, {0.5}});
  const auto first = static_cast<std::int32_t>(program.steps.size());
  program.steps.push_back({StepKind::post, 0, 0, 0, {}});
  program.steps.push_back({StepKind::wait, 0, -1, 0, {}});
  program.variations.resize(program.steps.size());
  program.runs.push_back({first, first + 2, 1});
  program.cycles.push_back({1, 2, 1});
  WaitingWalk(program, four).whole();
  return program;
}

TEST(OrderStatistics, OfOneValueAreItsOwn) {
  EXPECT_EQ(expected_largest(1), 0.0);
  EXPECT_EQ(variance_of_largest(1), 1.0);
}

TEST(WaitingWalk, OfALoopIsThatOfItsRepetitionsOneByOne) {
  for (const std::int64_t cycles : {1, 2, 3, 7}) {
    for (const std::int64_t repeats : {1, 2, 3, 10}) {
      const double expected =
          expected_largest(4) * repetition.value * std::sqrt(static_cast<double>(cycles * repeats));
      for (const bool written_out : {false, true}) {
        const TimedProgram program = program_of({cycles, repeats, written_out});
        EXPECT_NEAR(program.steps.back().duration.value, expected, 1e-12)
            << cycles << " x " << repeats << (written_out ? " written out" : "");
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
