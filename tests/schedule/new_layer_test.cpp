// A layer that Fourfold does not have, with a function of its own: the language counts it, issues
// it and frees its memory without having heard of either.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/order/issue.hpp"
#include "tests/new_function.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t hidden = 16;
constexpr std::int64_t tokens = 48;

Schedule layer_alone() {
  Recorder r;
  StepOptions options;
  options.recompute = Recompute::none;
  r.begin_section("layer", 0);
  const Shape stream{all_tokens, hidden, {{Axis::data, Axis::z}, {Axis::y}, {}, {}, Owed::sum}};
  const Id input = r.data("input", stream, Precision::bf16);
  const Id gradient = r.data("gradient", stream, Precision::bf16);
  std::map<Id, Id> kept;
  Gradients gradients;
  Bucket& bucket = gradients.bucket("bucket");
  const SquaredReluMlp mlp(r, hidden, bucket);
  const Turn turn{StepPart::backward, 0, true, true};
  const Recording in{r, options, turn, kept, gradients};

  mlp.backward(in, mlp.forward(in, input).saved, gradient);
  bucket.reduce(r, options);

  return issue(r.finish(), options);
}

TEST(NewLayer, IsCountedByItsProductsOnEveryGrid) {
  const Folded folded = fold_schedule(layer_alone());

  for (const ProcessGrid& grid :
       {ProcessGrid(), ProcessGrid(2, 2, 3, 1), ProcessGrid(1, 4, 1, 2)}) {
    const Counts counts = counted(folded, grid, tokens).counts;

    // Forward, input gradient and weight gradient of two products of 2 m h 2h flops each.
    const double all = 3 * 2 * 2.0 * tokens * hidden * 2 * hidden;
    EXPECT_DOUBLE_EQ(counts.executed().value * static_cast<double>(grid.size()), all) << grid.str();
  }
}

TEST(NewLayer, TakesOverTheMemoryOfWhatItReadsLast) {
  const Schedule schedule = layer_alone();
  const Program& program = schedule.program;
  const auto is_backward = [&](const Issue& issue) {
    return issue.kind == IssueKind::compute &&
           program.ops[static_cast<std::size_t>(issue.id)].is(functions::squared_relu_backward);
  };

  const auto step = std::find_if(schedule.stream.begin(), schedule.stream.end(), is_backward);

  ASSERT_NE(step, schedule.stream.end());
  const auto next = std::next(step);
  EXPECT_EQ(next->kind, IssueKind::release) << "in place: released before the result is allocated";
  EXPECT_EQ(program[next->id].label.full(), "down.dinput");
}

TEST(NewLayer, OwesWhatItsShardingSays) {
  const Program program = layer_alone().program;

  const auto of = [&](const char* name) {
    for (const Value& value : program.values) {
      if (value.label.full() == name) return value.shape.sharding;
    }
    return Sharding{};
  };

  EXPECT_EQ(of("activated"), (Sharding{{Axis::data, Axis::z}, {Axis::x}, {}, {}, Owed::sum}));
  EXPECT_EQ(of("dbetween"), of("activated"));
}

}  // namespace
}  // namespace fourfold::tests
