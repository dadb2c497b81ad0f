// What the listing tells the witness about a step.
#include "sim/replay/listing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/programs.hpp"

namespace fourfold {
namespace {

using ::testing::HasSubstr;
using testing::ProgramBuilder;

// Around a ring of four a gather goes three steps, an all-reduce six. The axis x has nobody to talk
// to; ranks 0, 2, 4 and 6 are one line along z, and 0 and 1 one along y.
TEST(Listing, NamesCostsStepsAndRingsOfEveryGroupAndEachOperationOfAllRanks) {
  ProgramBuilder builder;
  const std::int32_t gather =
      builder.collective(on::z_gather, 0.5, 1000.0, 16.0, CollectiveKind::all_gather);
  const std::int32_t reduce = builder.collective(on::y, 0.25, 64.0, 8.0);
  const std::int32_t idle = builder.collective(on::x, 1.0, 1.0, 1.0);
  builder.post(gather);
  builder.run(1);
  builder.post(gather);
  builder.compute(2.0);
  builder.post(reduce);
  builder.post(idle);
  builder.wait(on::z_gather, 1);
  builder.wait(on::y, 0);
  builder.run(2);
  builder.compute(4.0);
  builder.run(1);
  builder.cycle(1);
  const TimedProgram program = builder.take();

  const std::string text = listing(program, ProcessGrid(1, 2, 4, 1), read_platform("crossbar"),
                                   {1, 1, 1, 1.5, 1, 1, 1, 1});

  EXPECT_EQ(text,
            "ranks 8\n"
            "class 0 0.5 1000 16 3\n"
            "class 1 0.25 64 8 2\n"
            "ring y 1 0 1\n"
            "ring y 1 2 3\n"
            "ring y 1 4 5\n"
            "ring y 1 6 7\n"
            "ring z_gather 1 0 2 4 6\n"
            "ring z_gather 1 1 3 5 7\n"
            "factor 3 1.5\n"
            "post z_gather 0\n"
            "post z_gather 0\n"
            "compute 2\n"
            "post y 1\n"
            "wait z_gather 0\n"
            "wait y 0\n"
            "post z_gather 0\n"
            "compute 2\n"
            "post y 1\n"
            "wait z_gather 1\n"
            "wait y 1\n"
            "compute 4\n");
}

// Both kinds ride one channel, as small gradients and sharded ones do along z.
TEST(Listing, GivesEveryClassTheStepsOfItsKind) {
  ProgramBuilder builder;
  const auto posted = [&](CollectiveKind kind) {
    builder.post(builder.collective(on::z_reduce, 0.5, 1024.0, 4096.0, kind));
  };
  posted(CollectiveKind::reduce_scatter);
  posted(CollectiveKind::all_reduce);
  builder.wait(on::z_reduce, 0);
  builder.run(1);
  builder.cycle(1);

  const std::string text =
      listing(builder.take(), ProcessGrid(1, 1, 5, 1), read_platform("crossbar"));

  EXPECT_THAT(text, HasSubstr("\nclass 0 0.5 1024 4096 4\n"));
  EXPECT_THAT(text, HasSubstr("\nclass 1 0.5 1024 4096 8\n"));
}

}  // namespace
}  // namespace fourfold
