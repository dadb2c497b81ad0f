// The vectorised functions over their whole range against the C library in double, at lengths that
// are no multiple of a vector; and what bf16 makes of special numbers.
#include "engine/cpu/row_maps.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/bf16.hpp"
#include "engine/cpu/row_sums.hpp"
#include "engine/reference/maps.hpp"

namespace fourfold::tests {
namespace {

namespace rows = engine::cpu::rows;

// From `low` to `high` in 5,003 steps.
std::vector<float> ramp(double low, double high) {
  constexpr int n = 5003;
  std::vector<float> result(n);
  for (int i = 0; i < n; ++i) {
    result[static_cast<std::size_t>(i)] = static_cast<float>(low + (high - low) * i / (n - 1));
  }
  return result;
}

std::int64_t length(const std::vector<float>& x) {
  return static_cast<std::int64_t>(x.size());
}

TEST(Exponential, IsWithin2em7RelativeOverItsRange) {
  const std::vector<float> x = ramp(-87, 88);
  std::vector<float> out(x.size());

  rows::exponential(x.data(), {0.0F, 1.0F}, length(x), out.data());

  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = std::exp(static_cast<double>(x[i]));
    ASSERT_NEAR(out[i] / expected, 1.0, 2e-7) << x[i];
  }
}

TEST(Exponential, SaturatesAndKeepsWhatIsNoNumber) {
  const std::vector<float> x{-INFINITY, -1000.0F, 1000.0F, INFINITY, NAN};
  std::vector<float> out(x.size());

  rows::exponential(x.data(), {0.0F, 1.0F}, length(x), out.data());

  EXPECT_LT(out[0], 1e-37F);
  EXPECT_LT(out[1], 1e-37F);
  EXPECT_GT(out[2], 1e38F);
  EXPECT_TRUE(std::isfinite(out[3]));
  EXPECT_TRUE(std::isnan(out[4]));
}

TEST(Gelu, AndItsDerivativeAreWithin1em6) {
  const std::vector<float> x = ramp(-12, 12);
  const std::vector<float> bias(x.size(), 0.0F), ones(x.size(), 1.0F);
  std::vector<float> value(x.size()), slope(x.size());

  rows::bias_gelu(x.data(), bias.data(), length(x), value.data());
  rows::gelu_backward({ones.data(), x.data(), bias.data()}, length(x), slope.data());

  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    ASSERT_NEAR(value[i], reference::gelu(at), 1e-6 * std::max(1.0, std::abs(at))) << at;
    ASSERT_NEAR(slope[i], reference::gelu_derivative(at), 1e-6 * std::max(1.0, std::abs(at))) << at;
  }
}

// Every length up to four vectors and a rest: the tails of loops, where zeros stand in.
TEST(Sums, AreRightAtEveryLength) {
  const std::vector<float> x = ramp(-3, 5);
  for (std::int64_t n = 1; n < 150; ++n) {
    double sum = 0.0, squares = 0.0, exponentials = 0.0;
    float highest = -INFINITY;
    for (std::int64_t i = 0; i < n; ++i) {
      const double v = x[static_cast<std::size_t>(i)];
      sum += v;
      squares += (v - 0.5) * (v - 0.5);
      exponentials += std::exp(v - 1.0);
      highest = std::max(highest, x[static_cast<std::size_t>(i)]);
    }

    EXPECT_NEAR(rows::sum(x.data(), n), sum, 1e-6 * std::abs(sum));
    EXPECT_NEAR(rows::squares(x.data(), 0.5F, n), squares, 1e-6 * squares);
    EXPECT_NEAR(rows::sum_of_exponentials(x.data(), 1.0F, n), exponentials, 1e-6 * exponentials);
    EXPECT_EQ(rows::highest(x.data(), n), highest);
  }
  EXPECT_EQ(rows::highest(x.data(), 0), -INFINITY);
}

TEST(CausalSoftmax, SumsToOneAndHidesTheRest) {
  for (std::int64_t visible = 1; visible < 70; ++visible) {
    std::vector<float> scores = ramp(-40, 40);

    rows::causal_softmax(scores.data(), {visible, 70, 0.25F});

    double sum = 0.0;
    for (std::int64_t i = 0; i < visible; ++i) sum += scores[static_cast<std::size_t>(i)];
    EXPECT_NEAR(sum, 1.0, 1e-6);
    for (std::int64_t i = visible; i < 70; ++i) EXPECT_EQ(scores[static_cast<std::size_t>(i)], 0);
  }
}

std::vector<float> narrowed_and_widened(const std::vector<float>& x) {
  std::vector<std::uint16_t> halves(x.size());
  std::vector<float> back(x.size());
  rows::narrow(x.data(), length(x), halves.data());
  rows::widen(halves.data(), length(x), back.data());
  return back;
}

TEST(Bf16, NarrowsAsTheRefereeRoundsAndWidensExactly) {
  std::vector<float> x = ramp(-700, 300);
  for (float special : {0.0F, -0.0F, 1.00390625F, 1.01171875F, INFINITY, -INFINITY, 1e-40F,
                        std::numeric_limits<float>::max()}) {
    x.insert(x.begin() + 3, special);
  }

  const std::vector<float> back = narrowed_and_widened(x);

  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(back[i]),
              std::bit_cast<std::uint32_t>(rounded_to_bf16(x[i])))
        << x[i];
  }
}

// One whose upper half alone would read as infinity.
TEST(Bf16, KeepsWhatIsNoNumber) {
  const std::vector<float> x(17, std::bit_cast<float>(0x7f800001U));

  const std::vector<float> back = narrowed_and_widened(x);

  for (float b : back) EXPECT_TRUE(std::isnan(b));
}

}  // namespace
}  // namespace fourfold::tests
