// Shapley shares of made-up functions whose shares are known.
#include "sim/estimate/influence.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace fourfold::tests {
namespace {

using Places = std::vector<std::uint16_t>;

// A function on the points of a product of choices that `in` lets in.
Observations observed(
    const std::vector<std::int32_t>& choices, const std::function<double(const Places&)>& f,
    const std::function<bool(const Places&)>& in = [](const Places&) { return true; }) {
  Observations result{choices, {}, {}};
  Places point(choices.size());
  for (bool more = true; more;) {
    if (in(point)) {
      result.places.insert(result.places.end(), point.begin(), point.end());
      result.values.push_back(f(point));
    }
    more = false;
    for (std::size_t i = 0; i < choices.size() && !more; ++i) {
      more = ++point[i] < choices[i];
      if (!more) point[i] = 0;
    }
  }
  return result;
}

double sum(const std::vector<double>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0);
}

// Var(a) of 0, 1, 2 is 2/3, Var(3 b) of 0, 1 is 9/4.
TEST(Influence, OfASumIsEachTermsVariance) {
  const Influence found =
      influence(observed({3, 2}, [](const Places& p) { return p[0] + 3.0 * p[1]; }));

  EXPECT_NEAR(found.variance, 2.0 / 3.0 + 9.0 / 4.0, 1e-12);
  EXPECT_NEAR(found.shapley[0], 2.0 / 3.0 / found.variance, 1e-12);
  EXPECT_NEAR(found.shapley[1], 9.0 / 4.0 / found.variance, 1e-12);
  EXPECT_NEAR(found.alone[0], found.shapley[0], 1e-12);
}

// a b on -1, 1: neither says anything alone, together all.
TEST(Influence, OfAnInteractionIsSplitEvenly) {
  const Influence found = influence(
      observed({2, 2, 2}, [](const Places& p) { return (2.0 * p[0] - 1.0) * (2.0 * p[1] - 1.0); }));

  EXPECT_NEAR(found.shapley[0], 0.5, 1e-12);
  EXPECT_NEAR(found.shapley[1], 0.5, 1e-12);
  EXPECT_NEAR(found.alone[0], 0.0, 1e-12);
}

// a + a b c with all on -1, 1: variance 1 + 1; a has its own and a third of the interaction.
TEST(Influence, OfAnInteractionOfThreeIsAThirdEach) {
  const auto sign = [](std::uint16_t place) { return 2.0 * place - 1.0; };

  const Influence found = influence(observed({2, 2, 2}, [&](const Places& p) {
    return sign(p[0]) + sign(p[0]) * sign(p[1]) * sign(p[2]);
  }));

  EXPECT_NEAR(found.shapley[0], (1.0 + 1.0 / 3.0) / 2.0, 1e-12);
  EXPECT_NEAR(found.shapley[1], 1.0 / 6.0, 1e-12);
  EXPECT_NEAR(found.shapley[2], 1.0 / 6.0, 1e-12);
}

TEST(Influence, OfAChoiceThatChangesNothingIsNone) {
  const Influence found =
      influence(observed({4, 3}, [](const Places& p) { return std::sqrt(1.0 + p[0]); }));

  EXPECT_NEAR(found.shapley[0], 1.0, 1e-12);
  EXPECT_NEAR(found.shapley[1], 0.0, 1e-12);
}

TEST(Influence, OfAConstantIsNoneOfAnything) {
  const Influence found = influence(observed({4, 3}, [](const Places&) { return 0.1; }));

  EXPECT_EQ(found.variance, 0.0);
  EXPECT_EQ(sum(found.shapley), 0.0);
  EXPECT_NEAR(found.mean, 0.1, 1e-15);
}

// Where only the diagonal is in the space, either choice tells the other, and they share.
TEST(Influence, OfChoicesThatGoTogetherIsShared) {
  const Influence found = influence(observed(
      {3, 3}, [](const Places& p) { return 1.0 * p[0]; },
      [](const Places& p) { return p[0] == p[1]; }));

  EXPECT_NEAR(found.shapley[0], 0.5, 1e-12);
  EXPECT_NEAR(found.shapley[1], 0.5, 1e-12);
  EXPECT_NEAR(found.alone[1], 1.0, 1e-12);
}

// Of 0 0 | 0 6 without the corner (1, 1): nothing varies; without (0, 0): by hand. The points are
// (1,0) = 0, (0,1) = 0, (1,1) = 6: mean 2, variance 8. Given a: (0: 0), (1: 3, twice): variance
// (4 + 2) / 3 = 2, and the same given b. Both get half of 8.
TEST(Influence, OfAPartOfAProductIsByTheSameDefinition) {
  const Influence found = influence(observed(
      {2, 2}, [](const Places& p) { return 6.0 * p[0] * p[1]; },
      [](const Places& p) { return p[0] + p[1] > 0; }));

  EXPECT_NEAR(found.variance, 8.0, 1e-12);
  EXPECT_NEAR(found.alone[0], 2.0 / 8.0, 1e-12);
  EXPECT_NEAR(found.shapley[0], 0.5, 1e-12);
  EXPECT_NEAR(found.shapley[1], 0.5, 1e-12);
}

// Against the definition written down again: every subset's groups by scanning all points.
TEST(Influence, SharesOfAnUnevenSpaceSumToTheVarianceAndMatchTheDefinition) {
  const Observations points = observed(
      {3, 2, 4},
      [](const Places& p) { return std::sin(1.0 + p[0] + 2.0 * p[1] * p[2]) + 0.3 * p[2]; },
      [](const Places& p) { return (p[0] + 2 * p[1] + 3 * p[2]) % 5 != 0; });
  const auto explained = [&](unsigned subset) {
    double mean = 0.0, variance = 0.0;
    const std::size_t all = points.values.size();
    for (double value : points.values) mean += value / static_cast<double>(all);
    for (std::size_t n = 0; n < all; ++n) {
      double alike = 0.0, total = 0.0;
      for (std::size_t o = 0; o < all; ++o) {
        bool same = true;
        for (std::size_t i = 0; i < 3; ++i) {
          same = same &&
                 ((subset >> i & 1U) == 0 || points.places[3 * n + i] == points.places[3 * o + i]);
        }
        alike += same ? 1.0 : 0.0;
        total += same ? points.values[o] : 0.0;
      }
      variance += std::pow(total / alike - mean, 2) / static_cast<double>(all);
    }
    return variance;
  };

  const Influence found = influence(points);

  EXPECT_NEAR(found.variance, explained(7), 1e-12);
  EXPECT_NEAR(sum(found.shapley), 1.0, 1e-12);
  // Of 3! orders, choice 0 comes first in 2, last in 2, and second in 1 each.
  const double of_0 = ((explained(1) - explained(0)) * 2 + (explained(3) - explained(2)) +
                       (explained(5) - explained(4)) + (explained(7) - explained(6)) * 2) /
                      6.0;
  EXPECT_NEAR(found.shapley[0], of_0 / explained(7), 1e-12);
}

TEST(Influence, TellsTheMeanOfEachEntry) {
  const Influence found =
      influence(observed({2, 2}, [](const Places& p) { return 1.0 + p[0] + 10.0 * p[1]; }));

  EXPECT_EQ(found.means[0], (std::vector<double>{6.0, 7.0}));
  EXPECT_EQ(found.means[1], (std::vector<double>{1.5, 11.5}));
}

TEST(Influence, OfMoreChoicesThanSubsetsAllowIsRefused) {
  Observations many;
  many.choices.assign(most_choices + 1, 2);

  EXPECT_THROW(influence(many), std::invalid_argument);
}

}  // namespace
}  // namespace fourfold::tests
