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

TEST(Influence, OfAConstantIsNoneOfAnything) {
  const Influence found = influence(observed({4, 3}, [](const Places&) { return 0.1; }));

  EXPECT_EQ(found.variance, 0.0);
  EXPECT_EQ(sum(found.shapley), 0.0);
  EXPECT_NEAR(found.mean, 0.1, 1e-15);
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
  // Of 3! orders, each choice comes first in 2, last in 2, and second in 1 each.
  for (std::size_t i = 0; i < 3; ++i) {
    const unsigned one = 1U << i, next = 1U << (i + 1) % 3, last = 7U & ~(one | next);
    const double shared =
        ((explained(one) - explained(0)) * 2 + explained(one | next) - explained(next) +
         explained(one | last) - explained(last) + (explained(7) - explained(7U & ~one)) * 2) /
        6.0;
    EXPECT_NEAR(found.shapley[i], shared / explained(7), 1e-12) << i;
    EXPECT_NEAR(found.alone[i], explained(one) / explained(7), 1e-12) << i;
  }
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
