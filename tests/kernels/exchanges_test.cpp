// A small program with an all-to-all, its way back, a broadcast and an exchange with neighbours, on
// 1, 2 and 4 ranks: the referee holds the same matrix however it lies, and the executor holds the
// referee's bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/reference/scatter.hpp"
#include "tests/kernels/shown_values.hpp"

namespace fourfold::inline schedule::inline program::functions {

// Each row with the one before and the one after; at the edges of a device those of its neighbours.
inline Shape one_row_each(const Shape& rows, const Attributes&) {
  return {Extent::each(2), rows.cols, rows.sharding};
}
inline Shape as_rows(const Shape& rows, const Attributes&) {
  return rows;
}
inline constexpr Function with_neighbours{.name = "with_neighbours",
                                          .result = ResultShape::own,
                                          .shape = as_rows,
                                          .parameters = one_row_each};
// Adds the number of the device, so that copies differ.
inline constexpr Function numbered{.name = "numbered", .in_place = false};
}  // namespace fourfold::inline schedule::inline program::functions

namespace fourfold::tests {
namespace {

const Model model{"tiny", 2, 16, 4, 8, 11};

void number(const Device& device, const Op&, const reference::Operands<float>& o) {
  for (std::int64_t i = 0; i < o.output.size(); ++i) {
    o.output[i] = o.inputs[0][i] + static_cast<float>(device.rank);
  }
}

void add_neighbours(const Device&, const Op&, const reference::Operands<float>& o) {
  const std::int64_t last = o.output.rows - 1;
  for (std::int64_t row = 0; row <= last; ++row) {
    for (std::int64_t col = 0; col < o.output.cols; ++col) {
      const float before = row == 0 ? o.inputs[1](0, col) : o.inputs[0](row - 1, col);
      const float after = row == last ? o.inputs[1](1, col) : o.inputs[0](row + 1, col);
      o.output(row, col) = before + o.inputs[0](row, col) + after;
    }
  }
}

struct Recorded {
  Schedule schedule;
  Id before = -1, cut = -1, back = -1, spread = -1, near = -1;
};

Recorded recorded() {
  Recorded result;
  Recorder r(Precision::fp32, OptimizerState::none);
  r.begin_section("alone", -1);
  const Shape by_rows{8, 16, {{Axis::x}, {}, {}, {}}};
  const Parameter weight = r.parameter("weight", by_rows, WeightKind::matrix);
  const Parameter copied = r.parameter("copied", {3, 5, {}}, WeightKind::matrix);
  const auto see = [&](const char* label, Id value) { return ShownValues::show(r, label, value); };
  const Id twice = r.add("twice", {weight.weight, weight.weight}, Precision::fp32);
  result.before = see("before", twice);
  const Id cut = r.all_to_all(twice, Axis::x, Direction::cols, Hiding::never);
  result.cut = see("cut", cut);
  const Id back = r.all_to_all(cut, Axis::x, Direction::rows, Hiding::never);
  result.back = see("back", back);
  const Id own = r.map({functions::numbered, "own", Precision::fp32}, {copied.weight});
  result.spread = see("spread", r.broadcast(own, Axis::x, Hiding::never));
  const Id edges = r.neighbour_exchange(twice, 1, Axis::x, Hiding::never);
  result.near =
      see("near", r.apply({functions::with_neighbours, "near", Precision::fp32}, {twice, edges}));
  result.schedule = issue(r.finish(), {});
  return result;
}

class Exchanges : public testing::TestWithParam<int> {
 protected:
  Matrix<float> whole(Id id) const {
    return gather(what.schedule.program[id].shape, grid, referee.kept(id));
  }

  Recorded what = recorded();
  ProcessGrid grid{GetParam(), 1, 1, 1};
  ShownValues values{
      model,
      what.schedule,
      grid,
      {{&functions::numbered, number}, {&functions::with_neighbours, add_neighbours}}};
  Lockstep<float> referee = values.refereed();
};

TEST_P(Exchanges, ChangeHowAMatrixLiesAndNotWhatItIs) {
  const Matrix<float> before = whole(what.before);

  EXPECT_EQ(whole(what.cut).values, before.values);
  EXPECT_EQ(whole(what.back).values, before.values);
  EXPECT_EQ(referee.kept(what.cut)[0].cols, 16 / GetParam());
  EXPECT_GT(*std::ranges::max_element(before.values), 0.0F);
}

TEST_P(Exchanges, BroadcastTheFirstMembersNumbers) {
  for (const Matrix<float>& own : referee.kept(what.spread)) {
    EXPECT_EQ(own.values, referee.kept(what.spread)[0].values);
    EXPECT_EQ(own.values, referee.weight("copied").values);
  }
}

TEST_P(Exchanges, WithNeighboursJoinWhatIsCut) {
  const Matrix<float> before = whole(what.before), near = whole(what.near);
  for (std::int64_t row = 0; row < before.rows; ++row) {
    for (std::int64_t col = 0; col < before.cols; ++col) {
      const float above = row == 0 ? 0.0F : before(row - 1, col);
      const float below = row + 1 == before.rows ? 0.0F : before(row + 1, col);
      EXPECT_EQ(near(row, col), above + before(row, col) + below) << row << " " << col;
    }
  }
}

TEST_P(Exchanges, GiveTheRefereesBits) {
  values.expect_executed(referee, {what.before, what.cut, what.back, what.spread, what.near});
}

INSTANTIATE_TEST_SUITE_P(OnRanks, Exchanges, testing::Values(1, 2, 4));

}  // namespace
}  // namespace fourfold::tests
