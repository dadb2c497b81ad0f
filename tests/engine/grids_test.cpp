// Every grid trains the same model: loss, gradient norm, gradients and weights equal those of one
// rank.
#include <gtest/gtest.h>

#include "tests/engine/tiny.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t sequences = 12;
constexpr double tolerance = 1e-10;

struct Trained {
  std::vector<StepResult> steps;
  std::map<std::string, Matrix<double>> weights, gradients;
};

Trained trained(const Model& model, const StepOptions& options, const ProcessGrid& grid) {
  Lockstep<double> run(model, options, grid, tiny_seed);
  roughen(run);
  Trained result;
  for (std::uint64_t step = 0; step < 2; ++step) {
    result.steps.push_back(run.step(random_batch(model, sequences, step), {}));
  }
  for (const std::string& parameter : run.parameters()) {
    result.weights[parameter] = run.weight(parameter);
    result.gradients[parameter] = run.gradient(parameter);
  }
  return result;
}

void expect_equal(const Trained& a, const Trained& b) {
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_NEAR(a.steps[i].loss, b.steps[i].loss, tolerance);
    EXPECT_NEAR(a.steps[i].gradient_norm, b.steps[i].gradient_norm, tolerance);
  }
  for (const auto& [parameter, weight] : a.weights) {
    EXPECT_LT(largest_difference(weight, b.weights.at(parameter)), tolerance) << parameter;
    EXPECT_LT(largest_difference(a.gradients.at(parameter), b.gradients.at(parameter)), tolerance)
        << parameter;
  }
}

// All grids of at most `ranks` ranks that this model and batch divide by.
std::vector<ProcessGrid> grids(const Model& model, std::int64_t micro_batches, std::int64_t ranks) {
  std::vector<ProcessGrid> result;
  for (std::int64_t x = 1; x <= ranks; ++x) {
    for (std::int64_t y = 1; x * y <= ranks; ++y) {
      for (std::int64_t z = 1; x * y * z <= ranks; ++z) {
        for (std::int64_t data = 1; x * y * z * data <= ranks; ++data) {
          if (model.heads % x != 0 || model.hidden % y != 0) continue;
          if (sequences % (micro_batches * z * data) == 0) result.emplace_back(x, y, z, data);
        }
      }
    }
  }
  return result;
}

TEST(Grids, AllUpTo16RanksEqualOneRank) {
  const Trained expected = trained(tiny_model(), {}, {1, 1, 1, 1});
  const std::vector<ProcessGrid> all = grids(tiny_model(), 1, 16);
  ASSERT_GT(all.size(), 80U);

  for (const ProcessGrid& grid : all) {
    SCOPED_TRACE(grid.str());
    expect_equal(trained(tiny_model(), {}, grid), expected);
  }
}

TEST(Grids, EveryMixOfOptionsEqualsOneRank) {
  const Trained expected = trained(tiny_model(), {}, {1, 1, 1, 1});

  for (std::int64_t micro_batches : {2, 3}) {
    for (const auto reduction :
         {GradientReduction::per_micro_batch, GradientReduction::accumulated}) {
      for (const ProcessGrid& grid : grids(tiny_model(), micro_batches, 8)) {
        StepOptions options;
        options.micro_batches = micro_batches;
        options.gradient_reduction = reduction;
        SCOPED_TRACE(grid.str() + " M=" + std::to_string(micro_batches) + " " + name(reduction));
        expect_equal(trained(tiny_model(), options, grid), expected);
      }
    }
  }
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

  const double norm = run.step(random_batch(tiny_model(), sequences, 0), {}).gradient_norm;

  double squares = 0.0;
  for (const std::string& parameter : run.parameters()) {
    for (double g : run.gradient(parameter).values) squares += g * g;
  }
  EXPECT_NEAR(std::sqrt(squares), norm, tolerance);
  EXPECT_GT(norm, AdamW{}.clip_norm);
}

}  // namespace
}  // namespace fourfold::tests
