// What the witness is given to walk: a whole step as text.
#include "sim/replay/listing.hpp"

#include <gtest/gtest.h>

#include "tests/replay/programs.hpp"

namespace fourfold {
namespace {

using testing::ProgramBuilder;

// Around a ring of four a gather goes three steps, an all-reduce six. The axis x has nobody to talk
// to; ranks 0, 2, 4 and 6 are one line along z, and 0 and 1 one along y.
TEST(Listing, NamesCostsStepsAndRingsOfEveryGroupAndEachOperationOfAllRanks) {
  ProgramBuilder builder;
  const std::int32_t gather = builder.collective(Lane::z_gather, 0.5, 1000.0, 16.0);
  const std::int32_t reduce = builder.collective(Lane::y, 0.25, 64.0, 8.0);
  const std::int32_t idle = builder.collective(Lane::x, 1.0, 1.0, 1.0);
  builder.post(gather);
  builder.run(1);
  builder.post(gather);
  builder.compute(2.0);
  builder.post(reduce);
  builder.post(idle);
  builder.wait(Lane::z_gather, 1);
  builder.wait(Lane::y, 0);
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

TEST(Listing, AReduceScatterGoesAroundOnceAndAnAllReduceTwice) {
  ProgramBuilder builder;
  for (Lane lane : all_lanes) builder.post(builder.collective(lane, 0.0, 1.0, 1.0));
  builder.run(1);
  builder.cycle(1);

  const std::string text =
      listing(builder.take(), ProcessGrid(4, 4, 4, 4), read_platform("crossbar"), {});

  const std::size_t first = text.find("class");
  EXPECT_EQ(text.substr(first, text.find("ring") - first),
            "class 0 0 1 1 6\n"
            "class 1 0 1 1 6\n"
            "class 2 0 1 1 3\n"
            "class 3 0 1 1 3\n"
            "class 4 0 1 1 6\n");
}

}  // namespace
}  // namespace fourfold
