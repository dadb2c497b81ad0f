// Every operation of the recorder on values that lie in every way: products of blocks sum up to the
// whole product, collectives undo each other, and nothing else is taken. The words of refusals are
// in recorder_test.cpp.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "schedule/program/recorder.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

constexpr Axis x = Axis::x, y = Axis::y, z = Axis::z;

// A recorder with values that lie in every way, by name.
class Values {
 public:
  Values() {
    const Cuts rows{Axis::data, z};
    add("tokens", {all_tokens, 6, {rows, {y}, {}, {}, Owed::sum}});
    add("tokens of x", {all_tokens, 6, {rows, {x}, {}, {}, Owed::sum}});
    add("narrow tokens", {all_tokens, 3, {rows, {y}, {}, {}, Owed::sum}});
    add("tokens by rows of x", {all_tokens, 6, {{Axis::data, z, x}, {y}, {}, {}, Owed::sum}});
    add("tokens in pieces", {all_tokens, 6, {rows, {y}, {x}, {}, Owed::sum}});
    add("owing tokens", {all_tokens, 6, {rows, {y}, {}, {x}, Owed::sum}});
    add("maxima", {all_tokens, 6, {rows, {y}, {}, {x}, Owed::max}});
    add("words", {12, 6, {rows, {y}, {}, {}, Owed::sum}});
    add("statistics", {all_tokens, 1, {rows, {}, {}, {}, Owed::sum}});
    add("column", {1, 6, {{}, {y}, {}, {}, Owed::sum}});
    add("whole column", {1, 6, {}});
    add("number", {1, 1, {}});
    add("weight", {6, 4, {{y}, {x}, {}, {}, Owed::sum}});
    add("turned weight", {4, 6, {{x}, {y}, {}, {}, Owed::sum}});
    add("square", {6, 6, {{y}, {x}, {}, {}, Owed::sum}});
    add("twice cut", {6, 6, {{y}, {y}, {}, {}, Owed::sum}});
    add("pieces", {6, 4, {{y}, {x}, {z}, {}, Owed::sum}});
    add("fine pieces", {6, 4, {{y}, {x}, {z, Axis::data}, {}, Owed::sum}});
    add("owing pieces", {6, 4, {{y}, {}, {z}, {x}, Owed::sum}});
    add("gradient", {6, 4, {{y}, {x}, {}, {z, Axis::data}, Owed::sum}}, Precision::fp32);
    const Shape kept{6, 4, {{y}, {x}, {z}, {}, Owed::sum}};
    add("parameter", recorder.parameter("parameter", kept, WeightKind::matrix).weight);
    add("pack", recorder.pack("pack", {of("weight"), of("square")}));
    const std::vector<Id> three{of("weight"), of("square"), of("square")};
    add("larger pack", recorder.pack("larger pack", three));
    add("lone pack", recorder.pack("lone pack", {of("pieces")}));
    add("owing pack", recorder.pack("owing pack", {of("gradient"), of("gradient")}));
  }

  Id of(const std::string& name) const {
    for (const auto& [own, id] : all) {
      if (own == name) return id;
    }
    return -1;
  }

  Recorder recorder;
  std::vector<std::pair<std::string, Id>> all;

 private:
  void add(const std::string& name, const Shape& shape, Precision precision = Precision::bf16) {
    add(name, recorder.data(name, shape, precision));
  }
  void add(const std::string& name, Id id) { all.emplace_back(name, id); }
};

Result result_of(const Function& function) {
  return {function, "result", Precision::bf16};
}

bool accepts(Recorder& recorder, const std::function<void(Recorder&)>& record) {
  return refusal([&] { record(recorder); }) == "accepted";
}

// Rows and columns of a whole matrix that rank `rank` of 2x2x2x2 has of a value, not in pieces.
struct Part {
  std::int64_t first = 0, count = 0;
};

const ProcessGrid grid(2, 2, 2, 2);
constexpr std::int64_t tokens = 12;

std::int64_t extent_of(const Extent& extent) {
  return extent.constant() ? extent.value({tokens}) : tokens;
}

Part part_of(const Extent& extent, const Cuts& cuts, std::int64_t rank) {
  const std::int64_t count = extent_of(extent) / cuts.parts(grid);
  return {count * cuts.part(grid, rank), count};
}

// An entry of a whole matrix that belongs to an operand: whole numbers without a pattern.
double entry(int operand, std::int64_t row, std::int64_t col) {
  return static_cast<double>((row * 7 + col * 5 + operand * 3 + row * col) % 11 - 5);
}

bool divides(const Value& value) {
  for (const auto& [extent, cuts] : {std::pair{value.shape.rows, value.shape.sharding.rows},
                                     {value.shape.cols, value.shape.sharding.cols}}) {
    if (extent_of(extent) % cuts.parts(grid) != 0) return false;
  }
  return true;
}

// What rank `rank` computes of its blocks, where it belongs in the whole result.
void add_product(const Program& program, const Op& op, std::int64_t rank,
                 std::vector<double>& result) {
  const Shape &a = program[op.inputs[0]].shape, &b = program[op.inputs[1]].shape;
  const Shape& c = program[op.outputs[0]].shape;
  const bool a_turned = op.form == GemmForm::tn, b_turned = op.form == GemmForm::nt;
  const Part rows = part_of(c.rows, c.sharding.rows, rank);
  const Part cols = part_of(c.cols, c.sharding.cols, rank);
  const Part a_inner =
      a_turned ? part_of(a.rows, a.sharding.rows, rank) : part_of(a.cols, a.sharding.cols, rank);
  const Part b_inner =
      b_turned ? part_of(b.cols, b.sharding.cols, rank) : part_of(b.rows, b.sharding.rows, rank);
  ASSERT_EQ(a_inner.first, b_inner.first);
  ASSERT_EQ(a_inner.count, b_inner.count);
  for (std::int64_t i = rows.first; i < rows.first + rows.count; ++i) {
    for (std::int64_t j = cols.first; j < cols.first + cols.count; ++j) {
      double sum = 0.0;
      for (std::int64_t k = a_inner.first; k < a_inner.first + a_inner.count; ++k) {
        sum += (a_turned ? entry(0, k, i) : entry(0, i, k)) *
               (b_turned ? entry(1, j, k) : entry(1, k, j));
      }
      result[static_cast<std::size_t>(i * extent_of(c.cols) + j)] += sum;
    }
  }
}

// Summed over the axes that it owes, the product of the blocks is the whole product.
TEST(RecordedProducts, OfBlocksSumUpToTheWholeProduct) {
  int products = 0, owing = 0;
  for (GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn}) {
    Values values;
    for (const auto& [first, a] : values.all) {
      for (const auto& [second, b] : values.all) {
        Id id = -1;
        if (!accepts(values.recorder,
                     [&](Recorder& r) { id = r.gemm(form, a, b, result_of(functions::none)); })) {
          continue;
        }
        const Value left = values.recorder.value(a), right = values.recorder.value(b);
        const Value product = values.recorder.value(id);
        EXPECT_FALSE(left.shape.flat() || right.shape.flat()) << first << ", " << second;
        EXPECT_TRUE(left.shape.sharding.partial.empty() && right.shape.sharding.partial.empty());
        if (!left.members.empty() || !divides(left) || !divides(right) || !divides(product)) {
          continue;
        }
        ++products;
        Program program;
        program.values = {left, right, product};
        const Op op{.kind = OpKind::gemm, .form = form, .inputs = {0, 1}, .outputs = {2}};
        const std::int64_t inner =
            extent_of(form == GemmForm::tn ? left.shape.rows : left.shape.cols);
        const std::int64_t rows = extent_of(product.shape.rows),
                           cols = extent_of(product.shape.cols);
        std::vector<double> found(static_cast<std::size_t>(rows * cols));
        for (std::int64_t rank = 0; rank < grid.size(); ++rank)
          add_product(program, op, rank, found);
        // Each entry was added by all ranks but for those that cut it or owe it.
        std::int64_t copies = grid.size() / product.shape.sharding.rows.parts(grid) /
                              product.shape.sharding.cols.parts(grid);
        for (Axis axis : all_axes) {
          if (!product.shape.sharding.partial.contains(axis)) continue;
          copies /= grid.extent(axis);
          owing += 1;
        }
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < cols; ++j) {
            double whole = 0.0;
            for (std::int64_t k = 0; k < inner; ++k) {
              whole += (form == GemmForm::tn ? entry(0, k, i) : entry(0, i, k)) *
                       (form == GemmForm::nt ? entry(1, j, k) : entry(1, k, j));
            }
            ASSERT_EQ(found[static_cast<std::size_t>(i * cols + j)],
                      static_cast<double>(copies) * whole)
                << name(form) << " " << first << ", " << second;
          }
        }
      }
    }
  }
  EXPECT_GT(products, 25);
  EXPECT_GT(owing, 15);
}

// Scattered and gathered again is summed everywhere; cut and gathered again is what it was.
TEST(RecordedCollectives, UndoEachOther) {
  int scattered = 0, cut = 0;
  for (Axis axis : {x, y, z, Axis::data}) {
    for (Direction direction : {Direction::pieces, Direction::rows}) {
      Values values;
      Recorder& r = values.recorder;
      const auto shape_of = [&](const std::function<Id()>& record) {
        return r.value(record()).shape;
      };
      const auto names = values.all;
      for (const auto& [what, id] : names) {
        Id part = -1;
        if (accepts(r, [&](Recorder&) {
              part = r.reduce_scatter(id, axis, Hiding::never, direction);
            })) {
          ++scattered;
          EXPECT_EQ(shape_of([&] { return r.all_gather(part, axis, Hiding::never, direction); }),
                    shape_of([&] { return r.all_reduce(id, axis, Hiding::never); }))
              << what;
        }
        if (direction == Direction::rows) continue;
        if (accepts(r, [&](Recorder&) { part = r.cut(id, axis); })) {
          ++cut;
          EXPECT_EQ(shape_of([&] { return r.all_gather(part, axis, Hiding::never, direction); }),
                    r.value(id).shape)
              << what;
        }
      }
    }
  }
  EXPECT_GE(scattered, 7);
  EXPECT_GE(cut, 25);
}

// Which values each conversion takes, and no other.
TEST(RecordedCollectives, TakeWhatLiesRight) {
  const auto taken = [](const std::function<void(Recorder&, Id)>& record) {
    Values values;
    std::string text;
    const auto names = values.all;
    for (const auto& [what, id] : names) {
      if (accepts(values.recorder, [&](Recorder& r) { record(r, id); })) text += what + "; ";
    }
    return text;
  };
  const auto gather = [](Axis axis, Direction direction) {
    return [=](Recorder& r, Id id) { r.all_gather(id, axis, Hiding::never, direction); };
  };
  EXPECT_EQ(taken(gather(x, Direction::pieces)), "tokens in pieces; ");
  EXPECT_EQ(taken(gather(y, Direction::pieces)), "");
  EXPECT_EQ(taken(gather(z, Direction::pieces)), "pieces; owing pieces; parameter; ");
  EXPECT_EQ(taken(gather(Axis::data, Direction::pieces)), "fine pieces; ");
  EXPECT_EQ(taken(gather(x, Direction::rows)), "tokens by rows of x; turned weight; ");
  EXPECT_EQ(taken(gather(y, Direction::rows)), "weight; square; twice cut; gradient; ");
  EXPECT_EQ(taken([](Recorder& r, Id id) { r.all_reduce(id, x, Hiding::never); }),
            "owing tokens; maxima; owing pieces; ");
  EXPECT_EQ(taken([](Recorder& r, Id id) { r.all_reduce(id, z, Hiding::never); }),
            "gradient; owing pack; ");
  EXPECT_EQ(taken([](Recorder& r, Id id) { r.reduce_scatter(id, x, Hiding::never); }),
            "owing tokens; owing pieces; ");
  EXPECT_EQ(
      taken([](Recorder& r, Id id) { r.reduce_scatter(id, x, Hiding::never, Direction::rows); }),
      "owing tokens; ");
}

// A map takes operands that lie as its first or do not vary along what cuts it; what is still owed
// only where the function is linear.
TEST(RecordedMaps, TakeOperandsThatLieAlike) {
  const auto beside = [](const std::string& first, const Function& function) {
    Values values;
    std::string text;
    const auto names = values.all;
    for (const auto& [what, id] : names) {
      if (accepts(values.recorder, [&](Recorder& r) {
            r.map(result_of(function), {values.of(first), id});
          })) {
        text += what + "; ";
      }
    }
    return text;
  };
  EXPECT_EQ(beside("tokens", functions::gelu_backward), "tokens; statistics; column; number; ");
  EXPECT_EQ(beside("tokens of x", functions::gelu_backward), "tokens of x; statistics; number; ");
  EXPECT_EQ(beside("tokens in pieces", functions::gelu_backward), "tokens in pieces; ");
  EXPECT_EQ(beside("weight", functions::gelu_backward), "number; weight; ");
  EXPECT_EQ(beside("owing tokens", functions::gelu_backward), "");
  EXPECT_EQ(beside("tokens", functions::cast),
            "tokens; owing tokens; maxima; statistics; column; number; ");
  EXPECT_EQ(beside("narrow tokens", functions::swiglu_backward),
            "tokens; narrow tokens; statistics; column; number; ");
  for (const auto& [function, cols] :
       {std::pair{&functions::gelu_backward, 6}, {&functions::swiglu_backward, 12}}) {
    Values values;
    const Id id =
        values.recorder.map(result_of(*function), {values.of("tokens"), values.of("tokens")});
    EXPECT_EQ(values.recorder.value(id).shape.cols, Extent(cols));
  }
}

TEST(RecordedSums, AreOfValuesThatLieAlikeAndOweNoMaximum) {
  Values values;
  const auto names = values.all;
  int sums = 0;
  for (const auto& [first, a] : names) {
    for (const auto& [second, b] : names) {
      const Value &one = values.recorder.value(a), &other = values.recorder.value(b);
      const bool alike = one.shape == other.shape && one.members.size() == other.members.size() &&
                         first != "maxima";
      EXPECT_EQ(accepts(values.recorder,
                        [&](Recorder& r) {
                          r.add("sum", {a, b}, Precision::fp32);
                        }),
                alike)
          << first << ", " << second;
      sums += alike ? 1 : 0;
    }
  }
  EXPECT_EQ(sums, std::ssize(names) + 1)
      << "each with itself, and pieces with a parameter both ways";
}

// How its state may lie: as the weight, or cut along data besides; the gradient as the state.
TEST(RecordedUpdates, TakeAGradientThatLiesAsTheState) {
  const Shape whole{6, 4, {{y}, {x}, {}, {}, Owed::sum}};
  std::vector<Shape> shapes(8, whole);
  shapes[1].sharding.pieces = {z};
  shapes[2].sharding.pieces = {z, Axis::data};
  shapes[3].sharding.pieces = {Axis::data};
  shapes[4].sharding.pieces = {Axis::data, z};
  shapes[5].rows = 8;
  shapes[6].cols = 8;
  shapes[7].sharding.partial = {z};
  for (const Shape& weight : shapes) {
    for (const Shape& state : shapes) {
      for (const Shape& gradient : shapes) {
        Recorder r;
        const Parameter parameter = r.parameter("weight", weight, WeightKind::matrix, state);
        const Id given = r.data("gradient", gradient, Precision::fp32);
        const Id factor = r.data("factor", {1, 1, {}}, Precision::fp32);
        const bool taken = accepts(r, [&](Recorder& to) { to.update({parameter}, given, factor); });

        const Sharding &of_gradient = gradient.sharding, &of_state = state.sharding;
        const Cuts pieces = weight.sharding.pieces;
        EXPECT_EQ(
            taken,
            of_gradient.partial.empty() && gradient.rows == state.rows &&
                gradient.cols == state.cols && of_gradient.pieces.set() == of_state.pieces.set() &&
                (of_state.pieces == pieces ||
                 (!pieces.contains(Axis::data) && of_state.pieces == pieces.with(Axis::data))))
            << of_gradient.str() << " for " << of_state.str() << " of " << weight.sharding.str();
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
