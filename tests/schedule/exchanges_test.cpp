// How an all-to-all and a broadcast change what lies where, and what the recorder refuses.
#include <gtest/gtest.h>

#include "schedule/program/recorder.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

struct Cut {
  Recorder r{Precision::fp32, OptimizerState::none};
  Id value = -1;

  explicit Cut(const Sharding& sharding) {
    r.begin_section("alone", -1);
    value = r.data("value", {8, 16, sharding}, Precision::fp32);
  }
};

TEST(AllToAll, MovesTheInnermostCutToTheOtherDirection) {
  Cut cut({{Axis::data, Axis::x}, {Axis::y}, {}, {}});

  const Id moved = cut.r.all_to_all(cut.value, Axis::x, Direction::cols, Hiding::never);
  const Id back = cut.r.all_to_all(moved, Axis::x, Direction::rows, Hiding::never);

  EXPECT_EQ(cut.r.value(moved).shape.sharding,
            (Sharding{{Axis::data}, {Axis::y, Axis::x}, {}, {}}));
  EXPECT_EQ(cut.r.value(back).shape, cut.r.value(cut.value).shape);
  const Program program = cut.r.finish();
  for (const Op& op : program.ops) {
    EXPECT_EQ(name(program.channel_of(op)), "x_exchange");
    ASSERT_EQ(op.outputs.size(), 2U);
    EXPECT_EQ(op.outputs[1], op.bucket);
    EXPECT_EQ(op.buffers(), op.inputs);
    const ProcessGrid grid(2, 1, 1, 2);
    EXPECT_EQ(program.local_elements(op.bucket, grid, {}),
              program.local_elements(op.inputs[0], grid, {}));
  }
}

TEST(AllToAll, RefusesWhatIsNotCutSo) {
  const auto refused = [](const Sharding& sharding, Axis axis, Direction to) {
    Cut cut(sharding);
    return refusal([&] { cut.r.all_to_all(cut.value, axis, to, Hiding::never); });
  };
  EXPECT_EQ(refused({{Axis::x}, {}, {}, {}}, Axis::x, Direction::rows),
            "all_to_all: not in columns: value (rows {x}) along x");
  EXPECT_EQ(refused({{Axis::x, Axis::z}, {}, {}, {}}, Axis::x, Direction::cols),
            "all_to_all: only the innermost axis of rows can move: value (rows {x,z}) along x");
  EXPECT_EQ(refused({{Axis::x}, {}, {}, {}}, Axis::x, Direction::pieces),
            "all_to_all: only rows and columns change places: value (rows {x}) along x");
  EXPECT_EQ(refused({{}, {}, {Axis::x}, {}}, Axis::x, Direction::cols),
            "all_to_all: only rows and columns change places: value (pieces {x}) along x");
  EXPECT_EQ(refused({{Axis::x}, {}, {}, {Axis::y}}, Axis::x, Direction::cols),
            "all_to_all: operand not reduced: value (8 x 16, rows {x} owes sum {y})");
}

TEST(Broadcast, LeavesEverythingWhereItLies) {
  Cut cut({{Axis::y}, {}, {}, {}});

  const Id spread = cut.r.broadcast(cut.value, Axis::x, Hiding::never);

  EXPECT_EQ(cut.r.value(spread).shape, cut.r.value(cut.value).shape);
  EXPECT_FALSE(cut.r.value(spread).persistent);
  EXPECT_EQ(refusal([&] { cut.r.broadcast(spread, Axis::y, Hiding::never); }),
            "broadcast: each has a part of its own: value (rows {y}) along y");
}

// What a kind is in a program is its row of the table.
TEST(OperationNames, AreThoseOfTheTable) {
  for (OpKind kind : {OpKind::all_gather, OpKind::reduce_scatter, OpKind::all_reduce,
                      OpKind::all_to_all, OpKind::broadcast}) {
    EXPECT_TRUE(is_collective(kind));
    EXPECT_STREQ(name(kind), row_of(collective_of(kind)).word);
  }
  EXPECT_FALSE(is_collective(OpKind::send));
  EXPECT_STREQ(name(OpKind::cut), "cut");
  EXPECT_STREQ(name(OpKind::send), "send");
  EXPECT_STREQ(name(OpKind::choose), "choose");
}

}  // namespace
}  // namespace fourfold::tests
