// The stopping rule of the guided simulation, on made-up seconds.
#include "scaling/records/verdict.hpp"

#include <gtest/gtest.h>

namespace fourfold::tests {
namespace {

constexpr StoppingRule rule{.at_least = 3, .at_most = 5, .margin = 0.01};

TEST(Verdict, SettlesWhenTheNextCannotWin) {
  // Ratios 1.1, 1.15, 1.1: the fourth takes at least 14 x 1.1 x 0.99 = 15.2 > 11.
  EXPECT_EQ(judge({10, 11, 12, 14}, {11, 12.65, 13.2}, rule), Verdict::settled);
}

TEST(Verdict, GoesOnWhileTheNextMayWin) {
  // Least ratio 1.0: the fourth may take 10.9 x 1.0 x 0.99 = 10.79 < 10.8, though no other did.
  EXPECT_EQ(judge({10, 10.5, 10.8, 10.9, 20}, {12, 11, 10.8}, rule), Verdict::go_on);
  // The same where others came after it.
  EXPECT_EQ(judge({10, 10.8, 10.85, 10.9, 20}, {12, 10.8, 13}, rule), Verdict::go_on);
}

TEST(Verdict, MarginDecidesTheClosestCall) {
  // Without a margin the fourth would take at least 11 x 1.0 = 11 = the best.
  StoppingRule none = rule;
  none.margin = 0.0;

  EXPECT_EQ(judge({11, 11, 11, 11}, {11, 11, 11}, none), Verdict::settled);
  EXPECT_EQ(judge({11, 11, 11, 11}, {11, 11, 11}, rule), Verdict::go_on);
}

TEST(Verdict, BelievesNoDisagreementBelowTheLeastCount) {
  EXPECT_EQ(judge({1, 100, 200, 300}, {}, rule), Verdict::go_on);
  EXPECT_EQ(judge({1, 100, 200, 300}, {1, 100}, rule), Verdict::go_on);
  EXPECT_EQ(judge({1, 100, 200, 300}, {1, 100, 200}, rule), Verdict::settled);
}

TEST(Verdict, IsCappedOnlyWhereTheNextMightStillWin) {
  const std::vector<double> close{10, 10, 10, 10, 10, 10};
  const std::vector<double> far{10, 10, 10, 10, 10, 99};

  EXPECT_EQ(judge(close, {10, 10, 10, 10, 10}, rule), Verdict::capped);
  EXPECT_EQ(judge(far, {10, 10, 10, 10, 10}, rule), Verdict::settled);
}

TEST(Verdict, GivenUpSimulationsCountAsTriedButNotAsEvidence) {
  const std::optional<double> none;

  EXPECT_EQ(judge({10, 11, 12, 14, 15, 16}, {11, none, 13.2, none}, rule), Verdict::go_on);
  EXPECT_EQ(judge({10, 11, 12, 14, 15, 16}, {11, none, 13.2, 15.4}, rule), Verdict::settled);
  EXPECT_EQ(judge({10, 11, 12, 14, 15, 16}, {none, none, none, none, none}, rule), Verdict::capped);
}

TEST(Verdict, ExhaustedWhenAllAreSimulated) {
  EXPECT_EQ(judge({10, 11}, {12, 13}, rule), Verdict::exhausted);
}

}  // namespace
}  // namespace fourfold::tests
