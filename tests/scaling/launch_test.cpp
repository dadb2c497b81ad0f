// Starting executables side by side: their input, output, complaints and deaths.
#include "scaling/jobs/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

TEST(Launch, ResultsComeInTheOrderOfTheJobs) {
  // The first waits for nothing but takes longer to say more.
  const std::vector<JobResult> results = run_side_by_side(
      {{{"sh", "-c", "sleep 0.2; cat; exit 3"}, "first"}, {{"sh", "-c", "cat"}, "second"}});

  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].output, "first");
  EXPECT_EQ(results[0].status, 3);
  EXPECT_EQ(results[1].output, "second");
  EXPECT_EQ(results[1].status, 0);
}

TEST(Launch, CarriesMoreOutputThanAPipeHolds) {
  const auto results = run_side_by_side({{{"sh", "-c", "yes | head -c 1000000"}, ""}});

  EXPECT_EQ(results[0].output.size(), 1'000'000u);
}

TEST(Launch, EndsWhatTakesMoreCpuThanAllowed) {
  const auto results = run_side_by_side({{{"sh", "-c", "while :; do :; done"}, "", 1}});

  EXPECT_EQ(results[0].status, over_cpu_limit);
}

TEST(Launch, SaysWhatCannotBeStarted) {
  EXPECT_THAT(refusal<std::runtime_error>([] {
                run_side_by_side({{{"/nowhere/fourfold-replay"}, ""}});
              }),
              HasSubstr("cannot start /nowhere/fourfold-replay"));
}

}  // namespace
}  // namespace fourfold::tests
