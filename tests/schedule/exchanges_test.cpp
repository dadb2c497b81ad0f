// How an all-to-all and a broadcast change what lies where, and what the recorder refuses.
#include <gtest/gtest.h>

#include <algorithm>

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
    EXPECT_TRUE(std::ranges::equal(op.buffers(), op.inputs));
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

struct Marked : Cut {
  Marked() : Cut({{Axis::x}, {}, {}, {}}) {}
  Id whole_numbers(const Shape& shape) { return r.data("marks", shape, Precision::int32); }
};

// A list of what is sent makes it no larger: what is counted is what there may be at most.
TEST(AllToAllOfMarkedBlocks, LiesAsTheOther) {
  Marked cut;
  const Id marks = cut.whole_numbers({8, 4, {{Axis::x}, {}, {}, {}}});
  const Id arriving = cut.r.all_to_all(marks, Axis::x, Direction::cols, Hiding::never);
  const Id moved =
      cut.r.all_to_all_v(cut.value, marks, arriving, Axis::x, Direction::cols, Hiding::never);

  EXPECT_EQ(cut.r.value(moved).shape.sharding, (Sharding{{}, {Axis::x}, {}, {}}));
  const Program program = cut.r.finish();
  const Op& op = program.ops.back();
  EXPECT_EQ(op.collective_kind(), CollectiveKind::all_to_all_v);
  ASSERT_EQ(op.buffers().size(), 1U);
  EXPECT_EQ(op.buffers()[0], cut.value);
  const ProcessGrid grid(2, 1, 1, 1);
  EXPECT_EQ(program.local_elements(op.bucket, grid, {}),
            2 * program.local_elements(cut.value, grid, {}));
}

TEST(AllToAllOfMarkedBlocks, RefusesOtherMarks) {
  const auto refused = [](const Shape& own, const Shape& come) {
    Marked cut;
    const Id marks = cut.whole_numbers(own), arriving = cut.whole_numbers(come);
    return refusal([&] {
      cut.r.all_to_all_v(cut.value, marks, arriving, Axis::x, Direction::cols, Hiding::never);
    });
  };
  const Sharding by_rows{{Axis::x}, {}, {}, {}}, by_cols{{}, {Axis::x}, {}, {}};
  const std::string not_alike =
      "all_to_all_v: marks must be whole numbers that lie as the value does, for equal blocks of "
      "its columns: ";
  EXPECT_EQ(refused({8, 4, by_rows}, {8, 4, by_cols}), "accepted");
  EXPECT_EQ(refused({8, 5, by_rows}, {8, 5, by_cols}),
            not_alike + "marks (8 x 5, rows {x}) of value (8 x 16, rows {x})");
  EXPECT_EQ(refused({8, 4, by_cols}, {8, 4, by_cols}),
            not_alike + "marks (8 x 4, cols {x}) of value (8 x 16, rows {x})");
  EXPECT_EQ(refused({8, 4, by_rows}, {8, 4, by_rows}),
            "all_to_all_v: marks that arrive must lie as the result does: marks (8 x 4, rows {x}) "
            "of value (8 x 16, cols {x})");
}

TEST(Broadcast, LeavesEverythingWhereItLies) {
  Cut cut({{Axis::y}, {}, {}, {}});

  const Id spread = cut.r.broadcast(cut.value, Axis::x, Hiding::never);

  EXPECT_EQ(cut.r.value(spread).shape, cut.r.value(cut.value).shape);
  EXPECT_FALSE(cut.r.value(spread).persistent);
  EXPECT_EQ(refusal([&] { cut.r.broadcast(spread, Axis::y, Hiding::never); }),
            "broadcast: each has a part of its own: value (rows {y}) along y");
}

TEST(NeighbourExchange, HasAsManyRowsOnEveryDevice) {
  Cut cut({{Axis::data, Axis::x}, {Axis::y}, {}, {}});

  const Id edges = cut.r.neighbour_exchange(cut.value, 2, Axis::x, Hiding::never);

  const Program program = cut.r.finish();
  const Op& op = program.ops.back();
  ASSERT_EQ(op.buffers().size(), 1U);
  EXPECT_EQ(op.buffers()[0], edges);
  for (const ProcessGrid& grid :
       {ProcessGrid(1, 2, 1, 1), ProcessGrid(2, 2, 1, 1), ProcessGrid(2, 2, 1, 2)}) {
    EXPECT_EQ(program.local_elements(edges, grid, {}), 4 * 8) << grid.str();
  }
}

TEST(NeighbourExchange, RefusesOtherCutsAndNoEdge) {
  const auto refused = [](const Sharding& sharding, std::int64_t edge) {
    Cut cut(sharding);
    return refusal([&] { cut.r.neighbour_exchange(cut.value, edge, Axis::x, Hiding::never); });
  };
  EXPECT_EQ(refused({{Axis::x}, {}, {}, {}}, 1), "accepted");
  EXPECT_EQ(refused({{Axis::x, Axis::z}, {}, {}, {}}, 1),
            "neighbour_exchange: edges of 1 rows go only along the innermost axis of rows: value "
            "(rows {x,z}) along x");
  EXPECT_EQ(refused({{Axis::x}, {}, {}, {}}, 0),
            "neighbour_exchange: edges of 0 rows go only along the innermost axis of rows: value "
            "(rows {x}) along x");
  EXPECT_EQ(refused({{Axis::x}, {}, {}, {Axis::y}}, 1),
            "neighbour_exchange: operand not reduced: value (8 x 16, rows {x} owes sum {y})");
}

// What a kind is in a program is its row of the table.
TEST(OperationNames, AreThoseOfTheTable) {
  for (OpKind kind :
       {OpKind::all_gather, OpKind::reduce_scatter, OpKind::all_reduce, OpKind::all_to_all,
        OpKind::all_to_all_v, OpKind::broadcast, OpKind::neighbour_exchange}) {
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
