// Extents as expressions and cuts as ordered lists, and what the recorder makes of either.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/program/recorder.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

constexpr Axis x = Axis::x, z = Axis::z, data = Axis::data;

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
  EXPECT_THAT(refusal([&] {
                r.add("sum", {output, tokens}, Precision::bf16);
              }),
              HasSubstr("output (3/4 tokens x 6, rows {data}) and tokens (tokens x 6"));
}

TEST(Cuts, ActOnTheInnermostAxisOnly) {
  Recorder r;
  const Id pieces = r.data("state", {8, 8, {{}, {}, {z, data}, {}, Owed::sum}}, Precision::fp32);

  const Id once = r.all_gather(pieces, data, Hiding::never);

  EXPECT_EQ(r.value(once).shape.sharding.pieces, Cuts{z});
  EXPECT_EQ(
      refusal([&] { r.all_gather(pieces, z, Hiding::never); }),
      "all_gather: only the innermost axis of pieces can be gathered: state (pieces {z,data}) "
      "along z");
}

TEST(Cuts, InTheOtherOrderAreAnotherSharding) {
  const ProcessGrid grid(1, 1, 2, 3);
  const Cuts z_then_data{z, data}, data_then_z{data, z};

  EXPECT_NE(z_then_data, data_then_z);
  EXPECT_EQ(z_then_data.parts(grid), data_then_z.parts(grid));
  EXPECT_EQ(z_then_data.part(grid, 1), 3) << "z is outermost: rank 1 (z 1, data 0) begins at 3";
  EXPECT_EQ(data_then_z.part(grid, 1), 1);
}

TEST(Cuts, OfRowsAreGatheredAndScatteredAsPiecesAre) {
  Recorder r;
  const Id cut =
      r.data("stream", {all_tokens, 8, {{data, z, x}, {}, {}, {}, Owed::sum}}, Precision::bf16);
  const Id owed =
      r.data("partial", {all_tokens, 8, {{data, z}, {}, {}, {x}, Owed::sum}}, Precision::bf16);

  const Id whole = r.all_gather(cut, x, Hiding::never, Direction::rows);
  const Id kept = r.reduce_scatter(owed, x, Hiding::never, Direction::rows);

  EXPECT_EQ(r.value(whole).shape.sharding, (Sharding{{data, z}, {}, {}, {}, Owed::sum}));
  EXPECT_EQ(r.value(kept).shape.sharding, (Sharding{{data, z, x}, {}, {}, {}, Owed::sum}));
  EXPECT_EQ(refusal([&] { r.all_gather(cut, z, Hiding::never, Direction::rows); }),
            "all_gather: only the innermost axis of rows can be gathered: stream (rows {data,z,x}) "
            "along z");
}

TEST(Channels, AreTheProgramsAndCarryTheKindsTheyAreFor) {
  Recorder r;
  const ChannelNumber gathers = r.declare(z, "gather");
  const ChannelNumber reductions = r.declare(z, "reduce");
  const Id pieces = r.data("pieces", {8, 8, {{}, {}, {z}, {}, Owed::sum}}, Precision::bf16);
  const Id owed = r.data("owed", {8, 8, {{}, {}, {}, {z, x}, Owed::sum}}, Precision::bf16);

  r.all_gather(pieces, z, Hiding::never);
  r.all_reduce(owed, z, Hiding::never);
  r.all_reduce(owed, x, Hiding::never);
  const Program program = r.finish();

  EXPECT_EQ(program.ops[0].channel, gathers);
  EXPECT_EQ(program.ops[1].channel, reductions);
  EXPECT_EQ(program.ops[1].collective_kind(), CollectiveKind::all_reduce);
  ASSERT_EQ(program.channels.size(), 3U) << "x has spoken first when it was needed";
  EXPECT_EQ(name(program.channels[2]), "x");
}

}  // namespace
}  // namespace fourfold::tests
