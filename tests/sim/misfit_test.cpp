// Which grids cannot hold a model, and the sentence that says why.
#include <gtest/gtest.h>

#include "sim/question/point.hpp"

namespace fourfold {
namespace {

// 12 heads, hidden 48: x may be 1, 2, 3, 4, 6, 12; y any divisor of 48.
const Model model{"my-model", 2, 48, 12, 8, 96};

TEST(Misfit, NamesTheFirstReasonInOrder) {
  EXPECT_EQ(find_misfit(model, {2, 4, 3, 2}, 24, 4), Misfit::none);
  EXPECT_EQ(find_misfit(model, {8, 5, 5, 1}, 24, 1), Misfit::heads);
  EXPECT_EQ(find_misfit(model, {2, 5, 5, 1}, 24, 1), Misfit::divisibility);
  EXPECT_EQ(find_misfit(model, {2, 4, 5, 1}, 24, 1), Misfit::batch);
  EXPECT_EQ(find_misfit(model, {2, 4, 3, 2}, 24, 8), Misfit::batch);
  EXPECT_EQ(find_misfit(model, {1, 1, 1, 1}, 24, 0), Misfit::batch);
}

TEST(Misfit, IsASentenceWithTheNumbers) {
  EXPECT_EQ(misfit(model, {2, 4, 3, 2}, 24, 4), "");
  EXPECT_EQ(misfit(model, {8, 1, 1, 1}, 24, 1),
            "grid 8x1x1x1 does not fit my-model: 12 heads do not divide by x = 8; x must be a "
            "divisor of the heads");
  EXPECT_EQ(misfit(model, {2, 5, 1, 1}, 24, 1),
            "grid 2x5x1x1 does not fit my-model: hidden size 48 does not divide by y = 5; x and y "
            "must be divisors of it");
  EXPECT_EQ(misfit(model, {1, 1, 5, 2}, 24, 3),
            "grid 1x1x5x2 does not fit my-model: a batch of 24 sequences does not divide into 3 "
            "micro-batches of whole sequences on z x data = 5 x 2 shares");
}

// A grid that fits leaves no local extent rounded up.
TEST(Misfit, OfNoneMeansThatEveryExtentDivides) {
  for (std::int64_t x = 1; x <= 12; ++x) {
    for (std::int64_t y = 1; y <= 48; ++y) {
      const bool divides = model.heads % x == 0 && model.hidden % x == 0 && model.hidden % y == 0;
      EXPECT_EQ(find_misfit(model, {x, y, 1, 1}, 24, 1) == Misfit::none, divides) << x << "x" << y;
    }
  }
}

}  // namespace
}  // namespace fourfold
