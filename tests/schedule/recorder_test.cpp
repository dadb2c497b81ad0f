// What the recorder derives, and what it refuses, in words; and extents and cuts themselves. Which
// operands each operation takes is in recorded_operations_test.cpp.
#include "schedule/program/recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

constexpr Axis x = Axis::x, y = Axis::y, z = Axis::z, data = Axis::data;

// Values lying in the ways of a training step, before anything is recorded.
class RecorderTest : public ::testing::Test {
 protected:
  Id tokens(std::int64_t cols, const Cuts& cut, const std::string& name = "input") {
    return r.data(name, {all_tokens, cols, {{Axis::data, z}, cut, {}, {}, Owed::sum}},
                  Precision::bf16);
  }
  Id matrix(std::int64_t rows, std::int64_t cols, const Sharding& sharding,
            const std::string& name = "weight", Precision precision = Precision::bf16) {
    return r.data(name, {rows, cols, sharding}, precision);
  }
  Id owed(Owed owed, const std::string& name = "out") {
    return r.data(name, {all_tokens, 8, {{Axis::data, z}, {x}, {}, {y}, owed}}, Precision::bf16);
  }
  const Sharding& sharding(Id id) const { return r.value(id).shape.sharding; }

  // Calls, and the sentence that each is refused with.
  using Refused = std::vector<std::pair<std::function<void()>, std::string>>;
  static void expect_refused(const Refused& all) {
    for (const auto& [call, sentence] : all) EXPECT_EQ(refusal(call), sentence);
  }

  Recorder r;
};

Result bf16(const Function& function = functions::none, const Attributes& attributes = {}) {
  return {function, "result", Precision::bf16, attributes};
}

Result heads(const Function& function) {
  return bf16(function, {4, 1, 2});
}

std::vector<Id> list(auto... ids) {
  return {ids...};
}

TEST_F(RecorderTest, ReductionsOweAlongWhatCutsTheirOperand) {
  const Id input = tokens(8, {y});
  const Id weight = matrix(8, 8, {{y}, {x}, {z}, {}, Owed::sum});

  EXPECT_EQ(sharding(r.reduce(bf16(functions::row_sum), {input})).partial, AxisSet{y});
  EXPECT_EQ(sharding(r.reduce(bf16(functions::row_max), {input})).owed, Owed::max);
  EXPECT_EQ(sharding(r.reduce(bf16(functions::col_sum), {input})).partial,
            (AxisSet{z, Axis::data}));
  EXPECT_EQ(sharding(r.reduce(bf16(functions::square_sum), {weight})).partial, (AxisSet{x, y, z}));
}

TEST_F(RecorderTest, PairsOfTokensLieAsTheirHeads) {
  const Id qkv = tokens(24, {x}, "qkv");

  const Id scores = r.apply(heads(functions::scores), {qkv});
  const Id weights = r.map(heads(functions::causal_softmax), {scores});
  const Id context = r.apply(heads(functions::context), {qkv, weights});

  EXPECT_EQ(r.value(weights).shape, (Shape{all_tokens, 2 * 4, sharding(qkv)}));
  EXPECT_EQ(r.value(context).shape, (Shape{all_tokens, 8, sharding(qkv)}));
}

TEST_F(RecorderTest, RefusesAForgottenAllReduceWhereverItIsRead) {
  const Id out = owed(Owed::sum), ids = tokens(1, {}, "ids");
  const std::string why =
      ": operand not reduced: out (tokens x 8, rows {data,z} cols {x} owes sum {y})";

  expect_refused({{[&] { r.map(bf16(functions::bias_gelu), {out}); }, "map bias_gelu" + why},
                  {[&] { r.gemm(GemmForm::nn, out, out, bf16()); }, "gemm" + why},
                  {[&] { r.apply(heads(functions::attention), {out}); }, "attention" + why},
                  {[&] { r.lookup(bf16(functions::lookup), out, ids, {}); }, "lookup" + why},
                  {[&] { r.reduce(bf16(functions::row_sum), {out}); }, "reduce row_sum" + why},
                  {[&] { r.update({}, out, ids); }, "update" + why},
                  {[&] { r.cut(out, z); }, "cut" + why},
                  // A cast is linear: what is owed stays owed.
                  {[&] { r.map(bf16(functions::cast), {out}); }, "accepted"}});
}

TEST_F(RecorderTest, RefusesOperandsThatDoNotFitEachOther) {
  const Id a = tokens(8, {x}, "a"), b = tokens(8, {y}, "b"), maximum = owed(Owed::max, "maximum");
  const Id weight = matrix(8, 8, {{y}, {x}, {}, {}, Owed::sum});
  const Id twice = matrix(8, 8, {{y}, {y}, {}, {}, Owed::sum}, "twice");
  const Id table = matrix(96, 8, {{x}, {y}, {z}, {}, Owed::sum}, "table");
  const Id ids = tokens(1, {}, "ids"), factor = matrix(1, 1, {}, "factor");
  const Id partial = matrix(1, 1, {{}, {}, {}, {x}}, "partial");
  const Parameter parameter =
      r.parameter("parameter", {8, 8, {{y}, {x}, {z}, {}, Owed::sum}}, WeightKind::matrix);
  const std::string both =
      "a (tokens x 8, rows {data,z} cols {x}) and b (tokens x 8, rows {data,z} cols {y})";
  const std::string maxima = "maximum (tokens x 8, rows {data,z} cols {x} owes max {y})";

  expect_refused(
      {{[&] { r.map(bf16(functions::gelu_backward), list(a, b)); },
        "map gelu_backward: operands lie differently: " + both},
       {[&] { r.add("sum", list(a, b), Precision::bf16); },
        "add: operands lie differently: " + both},
       // The maximum of a sum is no sum of maxima.
       {[&] { r.add("sum", list(maximum, maximum), Precision::bf16); },
        "add: operands lie differently: " + maxima + " and " + maxima},
       {[&] { r.apply(heads(functions::context), list(a, b)); },
        "attention: operands lie differently: " + both},
       {[&] { r.gemm(GemmForm::nn, a, weight, bf16()); },
        "gemm: contracted extents differ: a (tokens x 8, rows {data,z} cols {x}) with weight (8 x "
        "8, rows {y} cols {x}) as NN"},
       {[&] { r.gemm(GemmForm::nn, b, twice, bf16()); },
        "gemm: one axis cuts two directions: b (tokens x 8, rows {data,z} cols {y}) with twice (8 "
        "x 8, rows {y} cols {y}) as NN"},
       {[&] { r.gemm(GemmForm::nn, b, table, bf16()); },
        "gemm: operand still in pieces: table (96 x 8, rows {x} cols {y} pieces {z})"},
       {[&] { r.apply(heads(functions::attention), {table}); }, "attention: rows must be tokens"},
       {[&] { r.apply(heads(functions::row_sum), {a}); },
        "apply row_sum: has no rule for its result's shape"},
       {[&] { r.lookup(bf16(functions::lookup), table, ids, {}); },
        "lookup: table still in pieces: table (96 x 8, rows {x} cols {y} pieces {z})"},
       {[&] { r.reduce(bf16(functions::bias_gelu), {a}); }, "reduce bias_gelu: is no reduction"},
       {[&] { r.update({parameter}, weight, factor); },
        "update: gradient lies differently: parameter (rows {y} cols {x} pieces {z}) and weight "
        "(rows {y} cols {x})"},
       {[&] { r.update({parameter}, r.cut(weight, z), partial); },
        "update: operand not reduced: partial (1 x 1, owes sum {x})"}});
}

TEST_F(RecorderTest, RefusesCollectivesWithoutCause) {
  const Id whole = matrix(8, 8, {{y}, {x}, {}, {}, Owed::sum});
  const Id maximum = owed(Owed::max, "maximum");
  const Id fine = matrix(8, 8, {{}, {}, {z, Axis::data}, {}, Owed::sum}, "fine");
  const Id rows = matrix(8, 8, {{z, x}, {}, {}, {}, Owed::sum}, "rows");

  expect_refused(
      {{[&] { r.all_gather(whole, z, Hiding::never); },
        "all_gather: not in pieces: weight (rows {y} cols {x}) along z"},
       {[&] { r.all_gather(fine, z, Hiding::never); },
        "all_gather: only the innermost axis of pieces can be gathered: fine (pieces {z,data}) "
        "along z"},
       {[&] { r.all_gather(rows, z, Hiding::never, Direction::rows); },
        "all_gather: only the innermost axis of rows can be gathered: rows (rows {z,x}) along z"},
       {[&] { r.all_reduce(whole, z, Hiding::never); },
        "all_reduce: nothing owed: weight (rows {y} cols {x}) along z"},
       {[&] { r.reduce_scatter(whole, z, Hiding::never); },
        "reduce_scatter: no sum owed: weight (rows {y} cols {x}) along z"},
       {[&] { r.reduce_scatter(maximum, y, Hiding::never); },
        "reduce_scatter: no sum owed: maximum (rows {data,z} cols {x} owes max {y}) along y"},
       {[&] { r.cut(whole, x); }, "cut: already cut: weight (rows {y} cols {x}) along x"}});
}

TEST_F(RecorderTest, RefusesPacksOfWhatLiesDifferently) {
  const Id a = matrix(8, 8, {{}, {x}, {}, {z}, Owed::sum}, "a");
  const Id b = matrix(8, 8, {{}, {x}, {}, {}, Owed::sum}, "b");
  const Id c = matrix(8, 8, {{}, {y}, {}, {}, Owed::sum}, "c");
  const Id full = matrix(8, 8, {{}, {x}, {}, {}, Owed::sum}, "full", Precision::fp32);

  expect_refused(
      {{[&] { r.pack("both", list(a, b)); },
        "pack: members lie differently: a (cols {x} owes sum {z}) and b (cols {x})"},
       {[&] { r.pack("both", list(b, full)); },
        "pack: members differ in precision: b (bf16) and full (fp32)"},
       {[&] { r.pack("both", list(full, full, b)); },
        "pack: members differ in precision: full (fp32) and b (bf16)"},
       {[&] { r.pack("both", list(full, full)); }, "accepted"},
       {[&] { r.reduce(bf16(functions::square_sum), {r.pack("mixed", list(b, c))}); },
        "square_sum: members of mixed are cut by different axes: {x} and {y}"},
       {[&] { r.cut(r.pack("pair", list(b, b)), z); },
        "cut: members of a pack keep their own pieces: pair (replicated) along z"},
       {[&] { r.reduce_scatter(r.pack("two", list(a, a)), z, Hiding::never); },
        "reduce_scatter: members of a pack keep their own pieces: two (owes sum {z}) along z"}});
}

TEST(Extent, IsAConstantOrARationalTimesTheTokens) {
  const Extent expert = Extent::of(Counting::tokens, 6, 8);  // 2 of 8 experts, capacity 1.5 x 2

  EXPECT_EQ(Extent(64).value({1000}), 64);
  EXPECT_EQ(all_tokens.value({1000}), 1000);
  EXPECT_EQ(expert.value({1000}), 750);
  EXPECT_EQ(expert.value({1001}), 751) << "rounded up";
  EXPECT_EQ(expert, Extent::of(Counting::tokens, 3, 4));
  EXPECT_EQ(expert.str(), "3/4 tokens");
  EXPECT_EQ(all_tokens.str(), "tokens");
  EXPECT_EQ((all_tokens * 2 / 2), all_tokens);
}

TEST(Extent, OfAResultFollowsItsOperands) {
  Recorder r;
  const Shape capacity{Extent::of(Counting::tokens, 3, 4), 8, {{data}, {}, {}, {}, Owed::sum}};
  const Id input = r.data("expert", capacity, Precision::bf16);
  const Id weight = r.data("weight", {8, 6, {}}, Precision::bf16);
  const Id tokens =
      r.data("tokens", {all_tokens, 6, {{data}, {}, {}, {}, Owed::sum}}, Precision::bf16);

  const Id output = r.gemm(GemmForm::nn, input, weight, {functions::none, "output"});

  EXPECT_EQ(r.value(output).shape.rows, capacity.rows);
  EXPECT_EQ(r.value(output).shape.local_rows(ProcessGrid(1, 1, 1, 3), {1000}), 250);
  EXPECT_EQ(
      refusal([&] { r.add("sum", list(output, tokens), Precision::bf16); }),
      "add: operands lie differently: output (3/4 tokens x 6, rows {data}) and tokens (tokens "
      "x 6, rows {data})");
}

TEST(Cuts, InTheOtherOrderAreAnotherSharding) {
  const ProcessGrid grid(1, 1, 2, 3);
  const Cuts z_then_data{z, data}, data_then_z{data, z};

  EXPECT_NE(z_then_data, data_then_z);
  EXPECT_EQ(z_then_data.parts(grid), data_then_z.parts(grid));
  EXPECT_EQ(z_then_data.part(grid, 1), 3) << "z is outermost: rank 1 (z 1, data 0) begins at 3";
  EXPECT_EQ(data_then_z.part(grid, 1), 1);
}

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

}  // namespace
}  // namespace fourfold::tests
