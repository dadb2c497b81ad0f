// Two jobs that checkpoint_jobs_test.sh starts, stops and starves: one writes, another reads what
// is left, on other numbers of ranks. On their own they write and read once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "tests/train/made_up_weights.hpp"

namespace fourfold::tests {
namespace {

// 5 MB of weights and moments: long enough to be stopped in the middle.
Model job_model() {
  return {"job", 2, 128, 4, 8, 300};
}

Weights job_weights(std::uint64_t seed) {
  const std::vector<ProcessGrid> grids = grids_of(world_size());
  return made_up_weights(training_program(job_model(), Precision::fp32), grids[grids.size() / 2],
                         seed);
}

std::int64_t number_from(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

TEST(checkpoint_jobs, writes_and_another_job_reads) {
  const SharedFolder own;
  const char* given = std::getenv("CHECKPOINT_FOLDER");
  const std::string folder = given == nullptr ? own.path() : given;
  const std::int64_t writes = number_from("CHECKPOINT_WRITES", 1);

  if (writes > 0) {
    const Weights weights = job_weights(1);
    Checkpoints checkpoints(folder);
    TrainingState state = made_up_state(0);
    state.model = job_model();
    for (std::int64_t step = 1; step <= writes; ++step) {
      state.step = step;
      ASSERT_EQ(refusal([&] { checkpoints.write(state, weights); }), "");
      if (world_rank() == 0) std::fprintf(stderr, "wrote step %d\n", static_cast<int>(step));
    }
  }
  Weights weights = job_weights(2);
  const TrainingState state = read_checkpoint(folder, job_model(), weights);

  EXPECT_THAT(differences(weights, job_weights(1)), testing::IsEmpty());
  if (world_rank() == 0) std::fprintf(stderr, "read step %d\n", static_cast<int>(state.step));
}

}  // namespace
}  // namespace fourfold::tests
