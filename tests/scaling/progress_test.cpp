// Time left from work, not from the number of points.
#include "scaling/jobs/progress.hpp"

#include <gtest/gtest.h>

#include "support/clock_text.hpp"

namespace fourfold::tests {
namespace {

TEST(Progress, TimeLeftFollowsTheWork) {
  // A tenth of the work took 6 s, so the rest takes 54 s, however many points it is.
  EXPECT_DOUBLE_EQ(seconds_left(6.0, 10.0, 100.0), 54.0);
  EXPECT_DOUBLE_EQ(seconds_left(6.0, 100.0, 100.0), 0.0);
  EXPECT_LT(seconds_left(6.0, 0.0, 100.0), 0.0);
}

TEST(Progress, ClockIsReadable) {
  EXPECT_EQ(clock_text(7.4), "0:07");
  EXPECT_EQ(clock_text(7.5), "0:08");
  EXPECT_EQ(clock_text(59.6), "1:00");
  EXPECT_EQ(clock_text(0.0), "0:00");
  EXPECT_EQ(clock_text(-1.0), "?");
  EXPECT_EQ(clock_text(3599.4), "59:59");
  EXPECT_EQ(clock_text(165.0), "2:45");
  EXPECT_EQ(clock_text(3723.0), "1:02:03");
}

}  // namespace
}  // namespace fourfold::tests
