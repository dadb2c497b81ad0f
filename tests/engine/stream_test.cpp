// The referee refuses streams that use a value at a time when a real run could not have it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/order/step.hpp"
#include "tests/engine/tiny.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

Schedule sound() {
  return issue(record_step(tiny_model(), {}), {});
}

std::string refusal(const Schedule& schedule) {
  Lockstep<double> run(tiny_model(), schedule, {2, 2, 2, 1}, tiny_seed);
  try {
    run.step(random_batch(tiny_model(), 2, 1), {});
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "not refused";
}

// The n-th collective's step of `kind` in the stream.
std::vector<Issue>::iterator find(Schedule& schedule, IssueKind kind, OpKind op) {
  return std::find_if(schedule.stream.begin(), schedule.stream.end(), [&](const Issue& issue) {
    return issue.kind == kind &&
           schedule.program.ops[static_cast<std::size_t>(issue.id)].kind == op;
  });
}

TEST(Stream, SoundOneIsAccepted) {
  EXPECT_EQ(refusal(sound()), "not refused");
}

TEST(Stream, RefusesAReadBeforeTheWait) {
  Schedule schedule = sound();

  schedule.stream.erase(find(schedule, IssueKind::wait, OpKind::all_gather));

  EXPECT_THAT(refusal(schedule), HasSubstr("lookup reads table before it is there"));
}

TEST(Stream, RefusesAWaitWithoutAStart) {
  Schedule schedule = sound();

  schedule.stream.erase(find(schedule, IssueKind::start, OpKind::reduce_scatter));

  EXPECT_THAT(refusal(schedule), HasSubstr("a wait for what was not started, reduce_scatter"));
}

TEST(Stream, RefusesAWaitThatMiscountsThePostsOfItsLane) {
  Schedule schedule = sound();

  ++find(schedule, IssueKind::wait, OpKind::all_reduce)->back;

  EXPECT_THAT(refusal(schedule), HasSubstr("a wait for what was not started, all_reduce"));
}

TEST(Stream, RefusesAReadAfterTheRelease) {
  Schedule schedule = sound();
  const auto gemm = find(schedule, IssueKind::compute, OpKind::gemm);
  const Id operand = schedule.program.ops[static_cast<std::size_t>(gemm->id)].inputs[0];

  schedule.stream.insert(gemm, {IssueKind::release, operand, 0, {}, {}});

  EXPECT_THAT(refusal(schedule), HasSubstr("gemm reads block0.norm1 before it is there or after"));
}

TEST(Stream, RefusesAValueThatNobodyReleases) {
  Schedule schedule = sound();
  const auto release =
      std::find_if(schedule.stream.begin(), schedule.stream.end(),
                   [](const Issue& issue) { return issue.kind == IssueKind::release; });
  const std::string name = schedule.program[release->id].label.full();

  schedule.stream.erase(release);

  EXPECT_THAT(refusal(schedule), HasSubstr("nobody released " + name));
}

TEST(Stream, RefusesAReadWhileAnAllReduceMayOverwriteIt) {
  Schedule schedule = sound();
  const auto start = find(schedule, IssueKind::start, OpKind::all_reduce);
  const Id operand = schedule.program.ops[static_cast<std::size_t>(start->id)].inputs[0];
  schedule.program.ops.push_back({.kind = OpKind::reduce,
                                  .function = &functions::square_sum,
                                  .inputs = {operand},
                                  .outputs = {operand}});

  schedule.stream.insert(
      std::next(start),
      {IssueKind::compute, static_cast<std::int32_t>(schedule.program.ops.size() - 1), 0, {}, {}});

  EXPECT_THAT(refusal(schedule), HasSubstr("reduce reads embedding while a collective may"));
}

TEST(Stream, RefusesToEndWithACollectiveInFlight) {
  Schedule schedule = sound();
  const auto last =
      std::find_if(schedule.stream.rbegin(), schedule.stream.rend(), [&](const Issue& issue) {
        return issue.kind == IssueKind::wait &&
               schedule.program[schedule.program.ops[static_cast<std::size_t>(issue.id)].outputs[0]]
                       .label.full() == "loss";
      });
  const Id output = schedule.program.ops[static_cast<std::size_t>(last->id)].outputs[0];
  const Id input = schedule.program.ops[static_cast<std::size_t>(last->id)].inputs[0];
  schedule.stream.erase(std::prev(last.base()));
  std::erase_if(schedule.stream, [&](const Issue& issue) {
    return issue.kind == IssueKind::release && (issue.id == output || issue.id == input);
  });

  EXPECT_THAT(refusal(schedule), HasSubstr("the step ends while a collective is in flight"));
}

}  // namespace
}  // namespace fourfold::tests
