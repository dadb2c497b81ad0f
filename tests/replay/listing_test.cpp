// What the listing tells the witness about a step.
#include "sim/replay/listing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/programs.hpp"

namespace fourfold {
namespace {

using ::testing::HasSubstr;

// Both kinds ride one channel, as small gradients and sharded ones do along z.
TEST(Listing, GivesEveryClassTheStepsOfItsKind) {
  testing::ProgramBuilder builder;
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
