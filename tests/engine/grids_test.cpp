// Every grid trains the same model, with attention fused or not: loss, gradient norm, gradients and
// weights equal those of one rank; and what is repeated in backward changes no bit.
#include <gtest/gtest.h>

#include "tests/engine/tiny.hpp"

namespace fourfold::tests {
namespace {

// What mixes of options train on them is in pipelines_test.cpp.
TEST(Grids, AllUpTo16RanksEqualOneRank) {
  const Model model = tiny_model();
  const Trained expected = trained(model, {}, {1, 1, 1, 1});
  int tried = 0;
  for (std::int64_t x : {1, 2, 4}) {
    for (std::int64_t y : {1, 2, 3, 4, 6, 12}) {
      for (std::int64_t z : {1, 2, 3, 4, 6, 12}) {
        for (std::int64_t data : {1, 2, 3, 4, 6, 12}) {
          if (x * y * z * data > 16 || trained_sequences % (z * data) != 0) continue;
          const ProcessGrid grid(x, y, z, data);
          SCOPED_TRACE(grid.str());
          expect_equal(trained(model, {}, grid), expected);
          ++tried;
        }
      }
    }
  }
  EXPECT_GT(tried, 80);
}

// With 5 words along x of extent 4 one rank holds one word and one holds padding only.
TEST(Grids, RanksThatHoldOnlyPaddingOfTheVocabularyChangeNothing) {
  Model model = tiny_model();
  model.vocabulary = 5;

  const Trained expected = trained(model, {}, {1, 1, 1, 1});

  for (const ProcessGrid& grid : {ProcessGrid(4, 1, 1, 1), ProcessGrid(4, 1, 3, 1)}) {
    SCOPED_TRACE(grid.str());
    expect_equal(trained(model, {}, grid), expected);
  }
}

// The norm is that of the whole gradient, and large enough that the tests above clip.
TEST(Grids, NormCountsEveryElementOfTheGradientOnce) {
  Lockstep<double> run(tiny_model(), StepOptions{}, {2, 2, 2, 2}, tiny_seed);
  roughen(run);

  const double norm = run.step(random_batch(tiny_model(), trained_sequences, 0), {}).gradient_norm;

  double squares = 0.0;
  for (const std::string& parameter : run.parameters()) {
    for (double g : run.gradient(parameter).values) squares += g * g;
  }
  EXPECT_NEAR(std::sqrt(squares), norm, 1e-10);
  EXPECT_GT(norm, AdamW{}.clip_norm);
}

TEST(Grids, OfUnfusedAttentionTrainWhatTheFusedKernelTrains) {
  StepOptions options;
  options.precision = Precision::fp32;
  const Trained expected = trained(tiny_model(), options, {1, 1, 1, 1});
  options.attention = AttentionKernel::unfused;
  for (const ProcessGrid& grid :
       {ProcessGrid(1, 1, 1, 1), ProcessGrid(4, 1, 1, 1), ProcessGrid(2, 2, 2, 1),
        ProcessGrid(1, 3, 2, 2), ProcessGrid(2, 1, 1, 1, 2)}) {
    for (const Recompute recompute : {Recompute::selective, Recompute::none}) {
      for (const bool along_x : {false, true}) {
        SCOPED_TRACE(grid.str() + " recompute " + name(recompute) +
                     (along_x ? " cut along x" : ""));
        options.recompute = recompute;
        options.micro_batches = grid.extent(Axis::pipe);
        options.sequence_parallel = along_x && grid.extent(Axis::x) > 1;
        expect_equal(trained(tiny_model(), options, grid), expected);
      }
    }
  }
}

TEST(Recompute, OfAnyKindChangesNoBit) {
  for (AttentionKernel attention : {AttentionKernel::fused, AttentionKernel::unfused}) {
    for (Precision precision : {Precision::bf16, Precision::fp32}) {
      StepOptions options;
      options.recompute = Recompute::none;
      options.attention = attention;
      options.precision = precision;
      const Trained expected = trained(tiny_model(), options, {2, 1, 1, 1});
      for (Recompute recompute : {Recompute::selective, Recompute::full}) {
        SCOPED_TRACE(std::string(name(attention)) + " " + name(precision) + " " + name(recompute));
        options.recompute = recompute;
        expect_equal(trained(tiny_model(), options, {2, 1, 1, 1}), expected, 0.0);
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
