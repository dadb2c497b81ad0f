// A vocabulary that is padded on each device along x is that of the model that has so many words to
// begin with: in bytes, flops and seconds, on every grid.
#include <gtest/gtest.h>

#include "schedule/models/vocabulary.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/drawn_points.hpp"

namespace fourfold::tests {
namespace {

TEST(PaddedVocabulary, IsThatOfAModelWithSoManyWords) {
  int padded = 0;
  for (std::int64_t number = 0; number < 60; ++number) {
    DrawnPoint drawn = drawn_point(number, 64);
    Point& point = drawn.point;
    point.options.pad_vocabulary = Draw(number, 0).of<std::int64_t>("unit", {1, 8, 64, 128});
    Point said = point;
    said.options.pad_vocabulary = 0;
    said.model.vocabulary =
        padded_vocabulary(point.model, point.options, point.grid.extent(Axis::x));
    padded += said.model.vocabulary > point.model.vocabulary ? 1 : 0;

    const Estimate one = estimate_step(point, drawn.platform);
    const Estimate other = estimate_step(said, drawn.platform);

    EXPECT_EQ(one.outcome.total.value, other.outcome.total.value) << drawn.step_words;
    EXPECT_EQ(one.memory.peak.value, other.memory.peak.value) << drawn.step_words;
    EXPECT_EQ(one.counts.executed().value, other.counts.executed().value) << drawn.step_words;
  }
  EXPECT_GT(padded, 20);
}

TEST(PaddedVocabulary, IsAWholeNumberOfUnitsOnEachDevice) {
  const Model model{"words", 2, 64, 4, 16, 50'257};
  StepOptions options;
  options.pad_vocabulary = 128;
  EXPECT_EQ(padded_vocabulary(model, options, 1), 50'304);
  EXPECT_EQ(padded_vocabulary(model, options, 4), 50'688);
  EXPECT_EQ(padded_vocabulary(model, {}, 1), 50'257);
  for (std::int64_t unit : {1, 3, 64, 128}) {
    for (std::int64_t x = 1; x < 12; ++x) {
      options.pad_vocabulary = unit;
      const std::int64_t padded = padded_vocabulary(model, options, x);
      EXPECT_EQ(padded % (unit * x), 0);
      EXPECT_GE(padded, model.vocabulary);
      EXPECT_LT(padded - unit * x, model.vocabulary);
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
