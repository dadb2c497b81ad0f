// Storage in fp32 leaves no bf16 anywhere; an evaluation is the forward pass and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schedule/fold/memory.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

TEST(Precision32, NothingIsBf16AndNothingIsCast) {
  std::mt19937 random(3);
  for (int i = 0; i < 20; ++i) {
    StepOptions options = random_options(random, 1 + i % 3);
    options.precision = Precision::fp32;

    const Program program = record_step(small_model(2), options);

    for (const Value& value : program.values) EXPECT_NE(value.precision, Precision::bf16);
    for (const Op& op : program.ops) EXPECT_FALSE(op.is(functions::cast));
  }
}

TEST(Precision32, WeightsAreTheirOwnMasters) {
  StepOptions options;
  options.precision = Precision::fp32;

  const MemoryUse memory = counted(small_model(2), options, ProcessGrid(), 4).memory;

  const double weights = memory.by_role[static_cast<int>(Role::parameter)].value;
  EXPECT_EQ(memory.by_role[static_cast<int>(Role::optimizer)].value, 2 * weights);
}

// What no precision asks for is not done: fp32 gradients need no cast to fp32.
TEST(Precision16, CastsOnlyWhereThePrecisionChanges) {
  std::mt19937 random(5);
  for (int i = 0; i < 20; ++i) {
    const Program program = record_step(small_model(2), random_options(random, 1 + i % 3));

    for (const Op& op : program.ops) {
      if (!op.is(functions::cast)) continue;
      EXPECT_NE(program[op.inputs[0]].precision, program[op.outputs[0]].precision);
    }
  }
}

// Products are kept in fp32 only where they wait for others to be added to.
TEST(Precision16, GradientsOfOneMicroBatchAreAsTheReductionTakesThem) {
  StepOptions options;
  options.gradient_reduction = GradientReduction::accumulated;
  const auto precision_of = [&](std::int64_t micro_batches) {
    options.micro_batches = micro_batches;
    const Program program = record_step(small_model(1), options);
    const auto product = std::find_if(program.ops.begin(), program.ops.end(), [](const Op& op) {
      return op.kind == OpKind::gemm && op.form == GemmForm::tn;
    });
    return program[product->outputs[0]].precision;
  };

  EXPECT_EQ(precision_of(1), Precision::bf16);
  EXPECT_EQ(precision_of(2), Precision::fp32);
}

TEST(Evaluation, IsTheForwardPassOfAStep) {
  StepOptions options;
  options.recompute = Recompute::none;
  const Program step = record_step(small_model(3), options);
  std::vector<Op> expected = step.ops;
  const auto head_end = std::find_if(expected.begin(), expected.end(), [](const Op& op) {
    return op.is(functions::softmax_backward);
  });
  const auto forward_ops = head_end - expected.begin();

  options.micro_batches = 4;
  options.recompute = Recompute::full;
  const Program evaluation = record_evaluation(small_model(3), options);

  ASSERT_EQ(static_cast<std::ptrdiff_t>(evaluation.ops.size()), forward_ops + 2);
  for (std::size_t i = 0; i + 2 < evaluation.ops.size(); ++i) {
    EXPECT_EQ(evaluation.ops[i].kind, step.ops[i].kind);
    EXPECT_EQ(evaluation.ops[i].function, step.ops[i].function);
    EXPECT_EQ(evaluation[evaluation.ops[i].outputs[0]].label.full(),
              step[step.ops[i].outputs[0]].label.full());
  }
  EXPECT_EQ(evaluation.ops.back().kind, OpKind::all_reduce);
}

TEST(Evaluation, KeepsLossesAndLogitsToTheEndAndNoOptimizerState) {
  const Schedule schedule = issue(record_evaluation(small_model(2), {}), {});

  std::multiset<std::string> left;
  for (const Issue& issue : schedule.stream) {
    const std::string name = issue.kind == IssueKind::allocate || issue.kind == IssueKind::release
                                 ? schedule.program[issue.id].label.full()
                                 : "";
    if (issue.kind == IssueKind::allocate) left.insert(name);
    if (issue.kind == IssueKind::release) left.erase(left.find(name));
  }
  EXPECT_EQ(left, (std::multiset<std::string>{"logits", "loss", "token_loss"}));
  for (Id id : schedule.program.kept) {
    EXPECT_TRUE(schedule.program[id].shape.sharding.partial.empty());
  }
  for (const Value& value : schedule.program.values) EXPECT_NE(value.role, Role::optimizer);
}

}  // namespace
}  // namespace fourfold::tests
