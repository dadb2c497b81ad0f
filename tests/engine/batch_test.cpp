// Which batches fit which steps, at the edges of every check and in its words; and who gets which
// words of them.
#include "engine/batch.hpp"

#include <gtest/gtest.h>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

const Model model{"small", 3, 24, 4, 6, 50};

TEST(Batches, AreMultiplesOfMicroBatchesAndOfWhatSharesThem) {
  for (const ProcessGrid& grid :
       {ProcessGrid(1, 1, 1, 1), ProcessGrid(2, 3, 1, 1), ProcessGrid(2, 1, 2, 1),
        ProcessGrid(1, 1, 1, 3), ProcessGrid(1, 2, 2, 3, 2)}) {
    for (const std::int64_t micro_batches : {1, 2, 5}) {
      const std::int64_t unit = micro_batches * grid.extent(Axis::z) * grid.extent(Axis::data);
      for (std::int64_t sequences = -unit; sequences <= 3 * unit; ++sequences) {
        const std::string said = refusal([&] { check_divides(sequences, grid, micro_batches); });

        if (sequences > 0 && sequences % unit == 0) {
          EXPECT_EQ(said, "accepted");
          continue;
        }
        EXPECT_EQ(
            said,
            "a batch of " + std::to_string(sequences) + " sequences does not divide among " +
                std::to_string(micro_batches) + " micro-batches on grid " + grid.str() +
                "; it must be a multiple of micro-batches x z x data = " + std::to_string(unit));
      }
    }
  }
}

TEST(Batches, HaveAWordAndATargetForEveryTokenAndNoOthers) {
  const ProcessGrid grid(1, 1, 2, 1);
  const Batch right = random_batch(model, 4, 3);
  const auto said = [&](const std::function<void(Batch&)>& change) {
    Batch changed = right;
    change(changed);
    return refusal([&] { check(changed, model, grid, 2); });
  };
  const auto outside = [](std::int32_t word) {
    return "token " + std::to_string(word) + " is outside the vocabulary of 50 words";
  };
  const std::string lengths =
      "a batch of 4 sequences of 6 tokens needs 24 tokens and as many "
      "targets, not ";

  EXPECT_EQ(said([](Batch&) {}), "accepted");
  EXPECT_EQ(said([](Batch& b) { b.tokens.pop_back(); }), lengths + "23");
  EXPECT_EQ(said([](Batch& b) { b.tokens.push_back(1); }), lengths + "25");
  EXPECT_EQ(said([](Batch& b) { b.targets.pop_back(); }), lengths + "23");
  EXPECT_EQ(said([](Batch& b) { b.targets.push_back(1); }), lengths + "25");
  EXPECT_NE(said([](Batch& b) { b.sequences = 6; }), "accepted");
  for (const std::size_t at : {std::size_t{0}, std::size_t{13}, std::size_t{23}}) {
    for (const std::int32_t word : {-1000, -2, -1, 0, 49, 50, 1000}) {
      const bool known = word >= 0 && word < 50;
      EXPECT_EQ(said([&](Batch& b) { b.tokens[at] = word; }), known ? "accepted" : outside(word));
      EXPECT_EQ(said([&](Batch& b) { b.targets[at] = word; }),
                known || word == ignored_target ? "accepted" : outside(word));
    }
  }
}

TEST(Batches, OfAnySeedHaveWordsOfTheVocabulary) {
  Model two = model;
  two.vocabulary = 2;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Batch batch = random_batch(two, 8, seed);
    EXPECT_EQ(refusal([&] { check(batch, two, {}, 1); }), "accepted");
    EXPECT_NE(batch.tokens, batch.targets);
    EXPECT_NE(batch.tokens, random_batch(two, 8, seed + 1).tokens);
    EXPECT_EQ(batch.tokens, random_batch(two, 8, seed).tokens);
  }
  const Batch counting = counting_batch(two, 5);
  EXPECT_EQ(refusal([&] { check(counting, two, {}, 1); }), "accepted");
  for (std::size_t i = 0; i + 1 < counting.tokens.size(); ++i) {
    if (i % 6 != 5) {
      EXPECT_EQ(counting.targets[i], counting.tokens[i + 1]) << i;
    }
  }
}

// Micro-batches follow one another in a batch; within one, data shares first, then z, and ranks
// along x, y and pipe have the same words.
TEST(Shares, GoByMicroBatchThenByDataThenByZ) {
  const ProcessGrid grid(2, 1, 3, 2, 2);
  constexpr std::int64_t tokens = 36;
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    const std::int64_t data = grid.coordinate(rank, Axis::data), z = grid.coordinate(rank, Axis::z);
    for (std::int64_t m = 0; m < 4; ++m) {
      const Share own = share(grid, rank, m, tokens);

      EXPECT_EQ(own.first, m * tokens + data * 18 + z * 6);
      EXPECT_EQ(own.count, 6);
    }
  }
}

TEST(Grids, ThatDoNotFitAModelAreRefusedInItsNumbers) {
  const auto why = [](const Model& of, const ProcessGrid& grid) {
    return refusal([&] { check(of, grid); });
  };
  EXPECT_EQ(why(model, {1, 1, 1, 1}), "accepted");
  EXPECT_EQ(why(model, {4, 2, 5, 7, 3}), "accepted");
  EXPECT_EQ(why(model, {3, 1, 1, 1}),
            "4 heads do not divide along x on grid 3x1x1x1; x must divide the number of heads");
  EXPECT_EQ(
      why(model, {1, 5, 1, 1}),
      "hidden size 24 does not divide along y on grid 1x5x1x1; y must divide the hidden size");
  EXPECT_EQ(why(model, {1, 1, 1, 1, 4}),
            "grid pipe=4 has 4 stages for 3 layers; pipe must be at most the layers");
}

}  // namespace
}  // namespace fourfold::tests
