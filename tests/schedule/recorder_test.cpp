// What the recorder derives, rule by rule, and what it refuses, in words.
#include "schedule/program/recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

constexpr Axis x = Axis::x, y = Axis::y, z = Axis::z;

// Values lying in the ways of a training step, before anything is recorded.
class RecorderTest : public ::testing::Test {
 protected:
  Id tokens(std::int64_t cols, const Cuts& cut, const std::string& name = "input") {
    return r.data(name, {all_tokens, cols, {{Axis::data, z}, cut, {}, {}, Owed::sum}},
                  Precision::bf16);
  }
  Id matrix(std::int64_t rows, std::int64_t cols, const Sharding& sharding,
            const std::string& name = "weight") {
    return r.data(name, {rows, cols, sharding}, Precision::bf16);
  }
  Id owed(Owed owed, const std::string& name = "out") {
    return r.data(name, {all_tokens, 8, {{Axis::data, z}, {x}, {}, {y}, owed}}, Precision::bf16);
  }
  const Sharding& sharding(Id id) const { return r.value(id).shape.sharding; }

  Recorder r;
};

Result bf16(const Function& function = functions::none, const Attributes& attributes = {}) {
  return {function, "result", Precision::bf16, attributes};
}

TEST_F(RecorderTest, AProductOwesAlongTheContractedAxes) {
  const Id input = tokens(8, {y});
  const Id weight = matrix(8, 6, {{y}, {x}, {}, {}, Owed::sum});
  const Id gradient = tokens(6, {x});

  const Id forward = r.gemm(GemmForm::nn, input, weight, bf16());
  const Id backward = r.gemm(GemmForm::nt, gradient, weight, bf16());
  const Id own = r.gemm(GemmForm::tn, input, gradient, bf16());

  EXPECT_EQ(sharding(forward), (Sharding{{Axis::data, z}, {x}, {}, {y}, Owed::sum}));
  EXPECT_EQ(sharding(backward), (Sharding{{Axis::data, z}, {y}, {}, {x}, Owed::sum}));
  EXPECT_EQ(sharding(own), (Sharding{{y}, {x}, {}, {z, Axis::data}, Owed::sum}));
  EXPECT_EQ(r.value(own).shape.rows, 8);
  EXPECT_EQ(r.value(own).shape.cols, 6);
  EXPECT_EQ(r.value(own).role, Role::gradient);
}

TEST_F(RecorderTest, CollectivesAreConversionsBetweenShardings) {
  const Id pieces = matrix(8, 8, {{y}, {x}, {z}, {}, Owed::sum});
  const Id partial = matrix(8, 8, {{y}, {x}, {}, {z, Axis::data}, Owed::sum});

  const Id gathered = r.all_gather(pieces, z, Hiding::never);
  const Id scattered = r.reduce_scatter(partial, z, Hiding::never);
  const Id reduced = r.all_reduce(partial, z, Hiding::never);

  EXPECT_EQ(sharding(gathered), (Sharding{{y}, {x}, {}, {}, Owed::sum}));
  EXPECT_EQ(sharding(scattered), (Sharding{{y}, {x}, {z}, {Axis::data}, Owed::sum}));
  EXPECT_EQ(sharding(reduced), (Sharding{{y}, {x}, {}, {Axis::data}, Owed::sum}));
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

TEST_F(RecorderTest, RefusesAForgottenAllReduceWhereverItIsRead) {
  const Id out = owed(Owed::sum);
  const Id ids = tokens(1, {}, "ids");
  const auto not_reduced = [](const std::string& operation) {
    return operation +
           ": operand not reduced: out (tokens x 8, rows {data,z} cols {x} owes sum {y})";
  };

  EXPECT_EQ(refusal([&] { r.map(bf16(functions::bias_gelu), {out}); }),
            not_reduced("map bias_gelu"));
  EXPECT_EQ(refusal([&] { r.gemm(GemmForm::nn, out, out, bf16()); }), not_reduced("gemm"));
  EXPECT_EQ(refusal([&] {
              r.apply(bf16(functions::attention, {4, 1, 2}), {out});
            }),
            not_reduced("attention"));
  EXPECT_EQ(refusal([&] { r.lookup(bf16(functions::lookup), out, ids, {}); }),
            not_reduced("lookup"));
  EXPECT_EQ(refusal([&] { r.reduce(bf16(functions::row_sum), {out}); }),
            not_reduced("reduce row_sum"));
  EXPECT_EQ(refusal([&] { r.update({}, out, ids); }), not_reduced("update"));
  EXPECT_EQ(refusal([&] { r.map(bf16(functions::cast), {out}); }), "accepted")
      << "a cast is linear: what is owed stays owed";
}

TEST_F(RecorderTest, RefusesOperandsThatLieDifferently) {
  const Id a = tokens(8, {x}, "a");
  const Id b = tokens(8, {y}, "b");
  const std::string both =
      "a (tokens x 8, rows {data,z} cols {x}) and b (tokens x 8, rows {data,z} cols {y})";

  EXPECT_EQ(refusal([&] {
              r.map(bf16(functions::gelu_backward), {a, b});
            }),
            "map gelu_backward: operands lie differently: " + both);
  EXPECT_EQ(refusal([&] {
              r.add("sum", {a, b}, Precision::bf16);
            }),
            "add: operands lie differently: " + both);
  const Id maximum = owed(Owed::max, "maximum");
  EXPECT_THAT(refusal([&] {
                r.add("sum", {maximum, maximum}, Precision::bf16);
              }),
              HasSubstr("add: operands lie differently: maximum"))
      << "the maximum of a sum is no sum of maxima";
}

TEST_F(RecorderTest, MapsTakeRowStatisticsAndColumnVectorsAsTheyLie) {
  const Id a = tokens(8, {x}, "a");
  const Id row = tokens(1, {}, "row");
  const Id column = matrix(1, 8, {{}, {x}, {}, {}, Owed::sum}, "column");
  const Id wrong = matrix(1, 8, {{}, {y}, {}, {}, Owed::sum}, "wrong");

  EXPECT_EQ(refusal([&] { r.map(bf16(functions::bias), {a, row, column}); }), "accepted");
  EXPECT_THAT(refusal([&] {
                r.map(bf16(functions::bias), {a, wrong});
              }),
              HasSubstr("map bias: operands lie differently: a"));
}

TEST_F(RecorderTest, RefusesAttentionWithoutTokensAndLookupInPieces) {
  const Id pieces = matrix(96, 8, {{x}, {y}, {z}, {}, Owed::sum}, "table");
  const Id ids = tokens(1, {}, "ids");

  EXPECT_EQ(refusal([&] {
              r.apply(bf16(functions::attention, {4, 1, 2}), {pieces});
            }),
            "attention: rows must be tokens");
  EXPECT_EQ(refusal([&] { r.lookup(bf16(functions::lookup), pieces, ids, {}); }),
            "lookup: table still in pieces: table (96 x 8, rows {x} cols {y} pieces {z})");
}

TEST_F(RecorderTest, PairsOfTokensLieAsTheirHeads) {
  const Id qkv = tokens(24, {x}, "qkv");

  const Id scores = r.apply(bf16(functions::scores, {4, 1, 2}), {qkv});
  const Id weights = r.map(bf16(functions::causal_softmax, {4, 1, 2}), {scores});
  const Id context = r.apply(bf16(functions::context, {4, 1, 2}), {qkv, weights});

  EXPECT_EQ(r.value(weights).shape, (Shape{all_tokens, 2 * 4, sharding(qkv)}));
  EXPECT_EQ(r.value(context).shape, (Shape{all_tokens, 8, sharding(qkv)}));
}

TEST_F(RecorderTest, RefusesAttentionOfOperandsThatLieDifferently) {
  const Id qkv = tokens(24, {x}, "qkv");
  const Id weights = tokens(8, {y}, "weights");

  EXPECT_EQ(refusal([&] {
              r.apply(bf16(functions::context, {4, 1, 2}), {qkv, weights});
            }),
            "attention: operands lie differently: qkv (tokens x 24, rows {data,z} cols {x}) and "
            "weights (tokens x 8, rows {data,z} cols {y})");
  EXPECT_EQ(refusal([&] {
              r.apply(bf16(functions::row_sum, {4, 1, 2}), {qkv});
            }),
            "apply row_sum: has no rule for its result's shape");
}

TEST_F(RecorderTest, RefusesAReductionByAFunctionThatReducesNothing) {
  const Id input = tokens(8, {y});

  EXPECT_EQ(refusal([&] { r.reduce(bf16(functions::bias_gelu), {input}); }),
            "reduce bias_gelu: is no reduction");
}

TEST_F(RecorderTest, RefusesCollectivesWithoutCause) {
  const Id whole = matrix(8, 8, {{y}, {x}, {}, {}, Owed::sum});
  const Id maximum = owed(Owed::max, "maximum");

  EXPECT_EQ(refusal([&] { r.all_gather(whole, z, Hiding::never); }),
            "all_gather: not in pieces: weight (rows {y} cols {x}) along z");
  EXPECT_EQ(refusal([&] { r.all_reduce(whole, z, Hiding::never); }),
            "all_reduce: nothing owed: weight (rows {y} cols {x}) along z");
  EXPECT_EQ(refusal([&] { r.reduce_scatter(whole, z, Hiding::never); }),
            "reduce_scatter: no sum owed: weight (rows {y} cols {x}) along z");
  EXPECT_EQ(refusal([&] { r.reduce_scatter(maximum, y, Hiding::never); }),
            "reduce_scatter: no sum owed: maximum (rows {data,z} cols {x} owes max {y}) along y");
}

TEST_F(RecorderTest, RefusesPacksOfWhatLiesDifferently) {
  const Id a = matrix(8, 8, {{}, {x}, {}, {z}, Owed::sum}, "a");
  const Id b = matrix(8, 8, {{}, {x}, {}, {}, Owed::sum}, "b");
  const Id c = matrix(8, 8, {{}, {y}, {}, {}, Owed::sum}, "c");

  EXPECT_EQ(refusal([&] {
              r.pack("both", {a, b});
            }),
            "pack: members lie differently: a (cols {x} owes sum {z}) and b (cols {x})");
  EXPECT_EQ(refusal([&] {
              r.reduce(bf16(functions::square_sum), {r.pack("mixed", {b, c})});
            }),
            "square_sum: members of mixed are cut by different axes: {x} and {y}");
  EXPECT_EQ(refusal([&] {
              r.reduce_scatter(r.pack("two", {a, a}), z, Hiding::never);
            }),
            "reduce_scatter: members of a pack keep their own pieces: two (owes sum {z}) along z");
}

TEST_F(RecorderTest, RefusesPacksOfTwoPrecisions) {
  const Id half = matrix(8, 8, {{}, {x}, {}, {}, Owed::sum}, "half");
  const Id full = r.data("full", {8, 8, {{}, {x}, {}, {}, Owed::sum}}, Precision::fp32);
  const auto packed = [&](const std::vector<Id>& members) {
    return refusal([&] { r.pack("both", members); });
  };

  EXPECT_EQ(packed({half, full}), "pack: members differ in precision: half (bf16) and full (fp32)");
  EXPECT_EQ(packed({full, full, half}),
            "pack: members differ in precision: full (fp32) and half (bf16)");
  EXPECT_EQ(packed({full, full}), "accepted");
}

TEST_F(RecorderTest, RefusesAnUpdateByAGradientOfAnotherShape) {
  const Parameter weight =
      r.parameter("weight", {8, 8, {{y}, {x}, {z}, {}, Owed::sum}}, WeightKind::matrix);
  const Id whole = matrix(8, 8, {{y}, {x}, {}, {}, Owed::sum}, "gradient");
  const Id factor = matrix(1, 1, {}, "factor");

  EXPECT_EQ(refusal([&] { r.update({weight}, whole, factor); }),
            "update: gradient lies differently: weight (rows {y} cols {x} pieces {z}) and gradient "
            "(rows {y} cols {x})");
}

}  // namespace
}  // namespace fourfold::tests
