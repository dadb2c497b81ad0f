// The executor's steps beside the referee's, bit by bit: loss, norm, weights, masters and moments.
#pragma once

#include <gtest/gtest.h>

#include "engine/reference/scatter.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/train/one_run.hpp"

namespace fourfold::tests {

inline std::string described(const Case& what) {
  return what.model.name + " on " + what.grid.str() + " " + name(what.options.precision) + " " +
         described(what.options) + " M=" + std::to_string(what.options.micro_batches);
}

// Elements of this rank's blocks, padding included, that are not those of the referee's stage.
inline std::int64_t differing_elements(const Weights& weights, const Lockstep<float>& referee) {
  std::int64_t differing = 0;
  const std::int64_t stage = stage_of(weights.grid(), weights.rank()).index;
  for (const Stored& stored : weights.all()) {
    const Matrix<float> expected = scatter(stored.shape, weights.grid(), weights.rank(),
                                           referee.weight_on(stage, stored.name));
    const std::vector<float> block = numbers_of(*stored.memory, stored.block);
    for (std::int64_t i = 0; i < stored.block.size(); ++i) {
      const float own = block[static_cast<std::size_t>(i)];
      const float other = expected.values[static_cast<std::size_t>(i)];
      if (std::memcmp(&own, &other, sizeof own) != 0) ++differing;
    }
  }
  return differing;
}

inline void expect_bitwise_equal(const Case& what, const Means& means) {
  SCOPED_TRACE(described(what) + " " + name(means.transport) + " " + name(means.progress));
  const Referee referee(what);
  ReferenceBackend backend;
  OneRun run(what, means, backend);
  const Stage stage = stage_of(what.grid, run.rank);
  for (std::int64_t number = 1; number <= what.steps; ++number) {
    const ExecutedStep step = run.step(number);

    const StepResult& expected = referee.steps[static_cast<std::size_t>(number - 1)];
    EXPECT_EQ(step.loss, stage.last() ? expected.loss : 0.0);
    EXPECT_EQ(step.gradient_norm, expected.gradient_norm);
    EXPECT_GT(step.gradient_norm, optimizer_of_tests().clip_norm) << "nothing is clipped";
  }
  EXPECT_EQ(differing_elements(run.weights, referee.run), 0);
}

}  // namespace fourfold::tests
