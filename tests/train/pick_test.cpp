// Drawing words from logits, at a temperature, among the k likeliest and in the nucleus (top-p):
// the fewest of the likeliest words whose share reaches p, each as likely among them as it was.
// Held over many drawn logits against the definition, written out slowly.
#include "engine/train/sample/pick.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace fourfold::tests {
namespace {

struct Question {
  std::vector<float> logits;
  Drawing drawing;
};

// Some with equal logits, some with words that are out of reach.
Question drawn_question(std::mt19937_64& random) {
  Question question;
  const std::size_t words = 1 + random() % 40;
  const double width = random() % 4 == 0 ? 0.0 : 8.0;
  for (std::size_t i = 0; i < words; ++i) {
    const double logit = width * (next_number(random) - 0.5);
    question.logits.push_back(static_cast<float>(random() % 3 == 0 ? std::round(logit) : logit));
    if (i > 0 && random() % 20 == 0) {
      question.logits.back() = -std::numeric_limits<float>::infinity();
    }
  }
  question.drawing = {.temperature = 0.25 + 2.0 * next_number(random),
                      .top_k = static_cast<std::int64_t>(random() % (words + 3)),
                      .top_p = 0.02 + 0.97 * next_number(random)};
  return question;
}

std::vector<double> likelihoods(const Question& question) {
  std::vector<double> weights;
  const double most = *std::ranges::max_element(question.logits);
  for (const float logit : question.logits) {
    weights.push_back(std::exp((logit - most) / question.drawing.temperature));
  }
  return weights;
}

// The definition: words by likelihood, the first of equals first; the first k of them; of these the
// first whose weights reach the share.
std::set<std::int32_t> nucleus_of(const Question& question) {
  const std::vector<double> weights = likelihoods(question);
  std::vector<std::int32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
    return question.logits[static_cast<std::size_t>(a)] >
           question.logits[static_cast<std::size_t>(b)];
  });
  const auto k = static_cast<std::size_t>(question.drawing.top_k);
  if (k > 0 && k < order.size()) order.resize(k);
  const auto weight = [&](std::int32_t word) { return weights[static_cast<std::size_t>(word)]; };
  double all = 0.0;
  for (const std::int32_t word : order) all += weight(word);
  std::set<std::int32_t> kept;
  double sum = 0.0;
  for (const std::int32_t word : order) {
    if (!kept.empty() && sum >= question.drawing.top_p * all) break;
    kept.insert(word);
    sum += weight(word);
  }
  return kept;
}

TEST(Nucleus, IsTheSmallestSetWhoseShareReachesP) {
  std::mt19937_64 random(32);
  constexpr int numbers = 997;
  for (int n = 0; n < 600; ++n) {
    const Question question = drawn_question(random);
    const std::set<std::int32_t> expected = nucleus_of(question);
    const std::vector<double> weights = likelihoods(question);
    double all = 0.0;
    for (const std::int32_t word : expected) all += weights[static_cast<std::size_t>(word)];

    std::vector<int> drawn(question.logits.size(), 0);
    for (int i = 0; i < numbers; ++i) {
      ++drawn[static_cast<std::size_t>(
          pick(question.logits, question.drawing, (i + 0.5) / numbers))];
    }

    for (std::size_t word = 0; word < drawn.size(); ++word) {
      const bool inside = expected.contains(static_cast<std::int32_t>(word));
      const double share = inside ? weights[word] / all : 0.0;
      // As often as it is likely, to the two numbers at its borders.
      EXPECT_NEAR(drawn[word], share * numbers, inside ? 1.01 : 0.0)
          << "word " << word << " of question " << n;
    }
  }
}

// Bit by bit: neither the sums nor the words move.
TEST(Nucleus, OfAllIsNoChange) {
  std::mt19937_64 random(7);
  for (int n = 0; n < 2000; ++n) {
    Question question = drawn_question(random);
    question.drawing.top_k = 0;
    question.drawing.top_p = 1.0;
    const double number = next_number(random);
    const std::vector<double> weights = likelihoods(question);
    std::vector<double> sums;
    double sum = 0.0;
    for (const float logit : question.logits) {
      const double most = *std::ranges::max_element(question.logits);
      sums.push_back(sum += std::exp((logit - most) / question.drawing.temperature));
    }
    const auto expected = std::ranges::upper_bound(sums, number * sum) - sums.begin();

    EXPECT_EQ(pick(question.logits, question.drawing, number), expected) << n;
  }
}

TEST(Nucleus, OfNearlyNothingIsTheLikeliestWord) {
  std::mt19937_64 random(8);
  for (int n = 0; n < 200; ++n) {
    Question question = drawn_question(random);
    question.drawing.top_p = 1e-9;
    const auto likeliest = std::ranges::max_element(question.logits) - question.logits.begin();
    EXPECT_EQ(pick(question.logits, question.drawing, next_number(random)), likeliest) << n;
  }
}

TEST(Nucleus, HasNoWordWhoseLogitIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const double top_p : {0.5, 1.0}) {
    for (const double number : {0.0, 0.5, 0.99}) {
      EXPECT_EQ(pick(std::vector{nan, 1.0F, nan}, {.top_p = top_p}, number), 1);
    }
    EXPECT_EQ(pick(std::vector{nan, nan}, {.top_p = top_p}, 0.5), 0);
  }
}

TEST(Pick, TakesTheFirstOfTheLikeliestAtTemperatureZero) {
  for (const std::int64_t top_k : {0, 1, 3}) {
    EXPECT_EQ(pick(std::vector<float>{1.0F, 3.0F, 3.0F, -2.0F},
                   {.temperature = 0.0, .top_k = top_k}, 0.99),
              1);
  }
}

TEST(Pick, NumbersAreTheSameOnEveryMachine) {
  std::mt19937_64 random(5489);
  // The engine's first number is 14514284786278117030 (its definition, with the default seed).
  EXPECT_DOUBLE_EQ(next_number(random), 14514284786278117030.0 / 18446744073709551616.0);
}

}  // namespace
}  // namespace fourfold::tests
