// A bias that lies as no small tensor of Fourfold's does: executors train the referee's bits.
#include "tests/new_sharding.hpp"

#include <gtest/gtest.h>

#include "tests/kernels/executing_ranks.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t steps = 2, sequences = 8;
const Model model{"tiny", 2, 12, 4, 5, 11};

AdamW optimizer() {
  AdamW optimizer;
  optimizer.learning_rate = 1e-2;
  optimizer.clip_norm = 0.1;
  return optimizer;
}

TEST(NewSharding, IsExecutedAsTheRefereeSays) {
  const ProcessGrid grid(2, 2, 2, 1);
  StepOptions options;
  options.precision = Precision::fp32;
  options.micro_batches = 2;
  const Schedule schedule = schedule_of(model, {Axis::z}, options);
  const auto batch_of = [](std::int64_t step) {
    return random_batch(model, sequences, static_cast<std::uint64_t>(step));
  };
  Lockstep<float> referee(model, schedule, grid, executed_seed, Rounding::recorded);
  double norm = 0.0;
  for (std::int64_t step = 1; step <= steps; ++step) {
    norm = referee.step(batch_of(step), optimizer()).gradient_norm;
  }
  Meetings meetings(grid);
  std::vector<std::unique_ptr<OneRank>> ranks;
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    ranks.push_back(
        std::make_unique<OneRank>(model, schedule, grid, sequences, rank, Where::host, meetings));
  }

  work_on_all(ranks, meetings, [&](OneRank& own) {
    for (std::int64_t step = 1; step <= steps; ++step) {
      const LocalBatch batch = local_batch(batch_of(step), grid, own.rank,
                                           sequences / options.micro_batches * model.sequence);
      own.steps.push_back(own.executor.step(batch, optimizer(), step));
    }
  });

  for (const auto& rank : ranks) {
    ASSERT_EQ(rank->failure, "");
    EXPECT_EQ(rank->steps.back().gradient_norm, norm);
    EXPECT_EQ(rank->differing(referee), 0) << "rank " << rank->rank;
  }
}

}  // namespace
}  // namespace fourfold::tests
