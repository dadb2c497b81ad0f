// Whole numbers that the device computes, and an all-to-all of the blocks that they mark: rows find
// an expert each by their scores, go to the device that has it, are worked on there and come back.
// On 1, 2 and 4 ranks, in lockstep and executed, they are what one device makes of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/plan/marked_blocks.hpp"
#include "engine/reference/scatter.hpp"
#include "schedule/fold/fold.hpp"
#include "tests/kernels/shown_values.hpp"
#include "tests/refusal.hpp"

namespace fourfold::inline schedule::inline program::functions {

// Of each row the column of its greatest score is 1, all others 0.
inline Shape marks_of_scores(const Shape& scores, const Attributes&) {
  return scores;
}
inline constexpr Function chosen{
    .name = "chosen", .result = ResultShape::own, .shape = marks_of_scores, .whole_numbers = true};
// 1 where there was 0, and 0 where there was 1.
inline constexpr Function others{
    .name = "others", .result = ResultShape::own, .shape = marks_of_scores, .whole_numbers = true};
// A row stands in its expert's columns, of four, beside zeros; and the sum over experts.
inline Shape rows_of_four(const Shape& rows, const Attributes&) {
  Shape shape = rows;
  shape.cols = shape.cols * 4;
  return shape;
}
inline constexpr Function spread_out{
    .name = "spread_out", .result = ResultShape::own, .shape = rows_of_four, .whole_numbers = true};
inline Shape rows_of_one(const Shape& rows, const Attributes&) {
  Shape shape = rows;
  shape.cols = shape.cols / 4;
  return shape;
}
inline constexpr Function summed{
    .name = "summed", .result = ResultShape::own, .shape = rows_of_one, .whole_numbers = true};
// Each column times a number of its own.
inline constexpr Function scaled{.name = "scaled", .in_place = false};

}  // namespace fourfold::inline schedule::inline program::functions

namespace fourfold::tests {
namespace {

constexpr std::int64_t rows = 16, experts = 4, hidden = 3;
const Model model{"tiny", 2, 16, 4, 8, 11};

const std::vector<reference::Kernel<float>> kernels{
    {&functions::chosen,
     [](const Device&, const Op&, const reference::Operands<float>& o) {
       for (std::int64_t row = 0; row < o.output.rows; ++row) {
         const float* const scores = o.inputs[0].values + row * o.output.cols;
         const auto best = std::max_element(scores, scores + o.output.cols) - scores;
         for (std::int64_t col = 0; col < o.output.cols; ++col) {
           o.output(row, col) = col == best ? 1.0F : 0.0F;
         }
       }
     }},
    {&functions::others,
     [](const Device&, const Op&, const reference::Operands<float>& o) {
       for (std::int64_t i = 0; i < o.output.size(); ++i) o.output[i] = 1.0F - o.inputs[0][i];
     }},
    {&functions::spread_out,
     [](const Device&, const Op&, const reference::Operands<float>& o) {
       for (std::int64_t row = 0; row < o.output.rows; ++row) {
         for (std::int64_t col = 0; col < o.output.cols; ++col) {
           o.output(row, col) = o.inputs[0](row, col % hidden) * o.inputs[1](row, col / hidden);
         }
       }
     }},
    {&functions::summed,
     [](const Device&, const Op&, const reference::Operands<float>& o) {
       for (std::int64_t row = 0; row < o.output.rows; ++row) {
         for (std::int64_t col = 0; col < hidden; ++col) {
           float sum = 0.0F;
           for (std::int64_t e = 0; e < experts; ++e) sum += o.inputs[0](row, e * hidden + col);
           o.output(row, col) = sum;
         }
       }
     }},
    {&functions::scaled, [](const Device&, const Op&, const reference::Operands<float>& o) {
       for (std::int64_t row = 0; row < o.output.rows; ++row) {
         for (std::int64_t col = 0; col < o.output.cols; ++col) {
           o.output(row, col) = o.inputs[0](row, col) * o.inputs[1](0, col);
         }
       }
     }}};

enum class Fault { none, marks_of_others, unmarked_rows };

struct Recorded {
  Schedule schedule;
  Id output = -1, marks = -1;
};

Recorded routed(Fault fault = Fault::none) {
  Recorded result;
  Recorder r(Precision::fp32, OptimizerState::none);
  r.begin_section("alone", -1);
  const auto parameter = [&](const char* label, const Shape& shape) {
    return r.parameter(label, shape, WeightKind::matrix).weight;
  };
  const auto apply = [&](const Function& function, const char* label, Precision precision,
                         const std::vector<Id>& operands) {
    return r.apply({function, label, precision}, operands);
  };
  const Id input = parameter("input", {rows, hidden, {{Axis::x}, {}, {}, {}}});
  const Id router = parameter("router", {hidden, experts, {}});
  const Id scales = parameter("scales", {1, experts * hidden, {{}, {Axis::x}, {}, {}}});
  const Id scores =
      r.gemm(GemmForm::nn, input, router, {functions::none, "scores", Precision::fp32});
  const Id marks = apply(functions::chosen, "marks", Precision::int32, {scores});
  result.marks = marks;
  const Id others = apply(functions::others, "others", Precision::int32, {marks});
  const Id arriving = r.all_to_all(fault == Fault::marks_of_others ? others : marks, Axis::x,
                                   Direction::cols, Hiding::never);
  const Id back = r.all_to_all(arriving, Axis::x, Direction::rows, Hiding::never);
  const Id wide = apply(functions::spread_out, "wide", Precision::fp32,
                        {input, fault == Fault::unmarked_rows ? scores : marks});
  const Id sent = r.all_to_all_v(wide, marks, arriving, Axis::x, Direction::cols, Hiding::never);
  const Id worked = r.map({functions::scaled, "worked", Precision::fp32}, {sent, scales});
  const Id returned =
      r.all_to_all_v(worked, arriving, back, Axis::x, Direction::rows, Hiding::never);
  const Id output = apply(functions::summed, "output", Precision::fp32, {returned});
  result.output = ShownValues::show(r, "output.shown", output);
  r.keep(marks);
  result.schedule = issue(r.finish(), {});
  return result;
}

class RoutedRows : public testing::TestWithParam<int> {};

TEST_P(RoutedRows, AreWhatOneDeviceMakesOfThem) {
  const Recorded what = routed();
  const ProcessGrid grid(GetParam(), 1, 1, 1);
  const ShownValues values(model, what.schedule, grid, kernels);
  const Lockstep<float> alone = ShownValues(model, what.schedule, {}, kernels).refereed();
  const Lockstep<float> referee = values.refereed();

  const Shape& shape = what.schedule.program[what.output].shape;
  const Matrix<float> expected = gather(shape, {}, alone.kept(what.output));
  EXPECT_EQ(gather(shape, grid, referee.kept(what.output)).values, expected.values);
  EXPECT_EQ(std::ranges::count(expected.values, 0.0F), 0);
  values.expect_executed(referee, {what.output});
  // Parts are of unequal sizes, or the test shows nothing.
  const Matrix<float>& marks = alone.kept(what.marks)[0];
  std::vector<float> of_expert(experts, 0.0F);
  for (std::int64_t i = 0; i < rows * experts; ++i) {
    of_expert[static_cast<std::size_t>(i % experts)] += marks.values[static_cast<std::size_t>(i)];
  }
  const auto [least, most] = std::ranges::minmax(of_expert);
  EXPECT_LT(least, most);
}

INSTANTIATE_TEST_SUITE_P(OnRanks, RoutedRows, testing::Values(1, 2, 4));

TEST(MarkedBlocks, AreListedByMemberRowByRow) {
  const std::vector<std::int32_t> marks{1, 0, 0, 2,  //
                                        0, 1, 1, 0};
  using Blocks = std::vector<std::vector<std::int64_t>>;

  EXPECT_EQ(plan::marked_blocks({marks, 4, 2, true}), (Blocks{{0, 3}, {5, 6}}));
  EXPECT_EQ(plan::marked_blocks({marks, 4, 2, false}), (Blocks{{0, 5}, {3, 6}}));
  EXPECT_EQ(plan::marked_blocks({marks, 4, 1, false}), (Blocks{{0, 3, 5, 6}}));
}

TEST(MarkedBlocks, AreTheOnlyOnesWithNumbersAndArriveWithTheirMarks) {
  const auto said = [](Fault fault) {
    const Recorded what = routed(fault);
    return refusal<std::logic_error>([&] {
      ShownValues(model, what.schedule, {2, 1, 1, 1}, kernels).refereed();
    });
  };

  EXPECT_EQ(said(Fault::unmarked_rows),
            "lockstep: wide holds numbers in a block that is not marked");
  EXPECT_EQ(said(Fault::marks_of_others), "lockstep: others is not what became of marks");
}

}  // namespace
}  // namespace fourfold::tests
