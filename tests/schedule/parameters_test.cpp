// Which parameters a GPT has, by what their first values and their decay depend on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

using ::testing::UnorderedElementsAre;

std::vector<std::string> names_of(const Program& program, WeightKind kind) {
  std::vector<std::string> names;
  for (const Parameter& parameter : program.parameters) {
    const Value& weight = program[parameter.weight];
    if (weight.weight == kind) names.push_back(weight.label.full());
  }
  return names;
}

// As in GPT-2: weights that write into the stream of residuals start narrower, or it would widen
// with every layer.
TEST(Parameters, AreOfTheKindsOfGpt2) {
  const Program program = record_step(small_model(1), {});

  EXPECT_THAT(names_of(program, WeightKind::residual_matrix),
              UnorderedElementsAre("block0.projection.weight", "block0.down.weight"));
  EXPECT_THAT(names_of(program, WeightKind::matrix),
              UnorderedElementsAre("block0.qkv.weight", "block0.up.weight", "table", "positions"));
  EXPECT_THAT(names_of(program, WeightKind::bias),
              UnorderedElementsAre("block0.qkv.bias", "block0.projection.bias", "block0.up.bias",
                                   "block0.down.bias"));
  EXPECT_THAT(names_of(program, WeightKind::norm),
              UnorderedElementsAre("block0.norm1", "block0.norm2", "final_norm"));
}

}  // namespace
}  // namespace fourfold::tests
