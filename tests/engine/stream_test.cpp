// The referee refuses streams that use a value at a time when a real run could not have it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "schedule/order/step.hpp"
#include "tests/engine/tiny.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

std::string said(const Schedule& schedule) {
  Lockstep<double> run(tiny_model(), schedule, {2, 2, 2, 1}, tiny_seed);
  return refusal<std::logic_error>([&] { run.step(random_batch(tiny_model(), 2, 1), {}); });
}

// The first step of `kind` in the stream of such an operation.
std::vector<Issue>::iterator find(Schedule& schedule, IssueKind kind, OpKind op) {
  return std::ranges::find_if(schedule.stream, [&](const Issue& issue) {
    return issue.kind == kind &&
           schedule.program.ops[static_cast<std::size_t>(issue.id)].kind == op;
  });
}

Id first_input(const Schedule& schedule, const Issue& issue) {
  return schedule.program.ops[static_cast<std::size_t>(issue.id)].inputs[0];
}

struct Edit {
  std::string words;
  std::function<void(Schedule&)> apply;
};

TEST(Stream, IsRefusedWhereARealRunCouldNotHaveAValue) {
  const std::vector<Edit> edits{
      {"accepted", [](Schedule&) {}},
      {"lookup reads table before it is there",
       [](Schedule& s) { s.stream.erase(find(s, IssueKind::wait, OpKind::all_gather)); }},
      {"a wait for what was not started, reduce_scatter",
       [](Schedule& s) { s.stream.erase(find(s, IssueKind::start, OpKind::reduce_scatter)); }},
      // It miscounts the posts of its lane.
      {"a wait for what was not started, all_reduce",
       [](Schedule& s) { ++find(s, IssueKind::wait, OpKind::all_reduce)->back; }},
      {"gemm reads block0.norm1 before it is there or after",
       [](Schedule& s) {
         const auto gemm = find(s, IssueKind::compute, OpKind::gemm);
         s.stream.insert(gemm, {IssueKind::release, first_input(s, *gemm), 0, {}, {}});
       }},
      {"nobody released ",
       [](Schedule& s) {
         s.stream.erase(std::ranges::find(s.stream, IssueKind::release, &Issue::kind));
       }},
      {"reduce reads embedding while a collective may",
       [](Schedule& s) {
         const auto start = find(s, IssueKind::start, OpKind::all_reduce);
         const Id operand = first_input(s, *start);
         s.program.ops.push_back({.kind = OpKind::reduce,
                                  .function = &functions::square_sum,
                                  .inputs = {operand},
                                  .outputs = {operand}});
         const auto last = static_cast<std::int32_t>(s.program.ops.size() - 1);
         s.stream.insert(std::next(start), {IssueKind::compute, last, 0, {}, {}});
       }},
      {"the step ends while a collective is in flight", [](Schedule& s) {
         const auto is_loss = [&](const Issue& issue) {
           const Op& op = s.program.ops[static_cast<std::size_t>(issue.id)];
           return issue.kind == IssueKind::wait && s.program[op.outputs[0]].label.full() == "loss";
         };
         const auto last =
             std::prev(std::find_if(s.stream.rbegin(), s.stream.rend(), is_loss).base());
         const Id input = first_input(s, *last);
         const Id output = s.program.ops[static_cast<std::size_t>(last->id)].outputs[0];
         s.stream.erase(last);
         std::erase_if(s.stream, [&](const Issue& issue) {
           return issue.kind == IssueKind::release && (issue.id == output || issue.id == input);
         });
       }}};
  for (const auto& [words, apply] : edits) {
    Schedule schedule = issue(record_step(tiny_model(), {}), {});
    apply(schedule);
    EXPECT_THAT(said(schedule), testing::HasSubstr(words));
  }
}

}  // namespace
}  // namespace fourfold::tests
