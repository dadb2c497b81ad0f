// A bias that lies as no small tensor of Fourfold's does: executors train the referee's bits.
#include "tests/new_sharding.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "engine/batch.hpp"
#include "engine/cpu/reference_backend.hpp"
#include "engine/executor.hpp"
#include "engine/reference/lockstep.hpp"
#include "engine/reference/scatter.hpp"
#include "tests/kernels/blocks.hpp"
#include "tests/kernels/thread_ranks.hpp"

namespace fourfold::tests {
namespace {

constexpr std::uint64_t seed = 7;
constexpr std::int64_t steps = 2, sequences = 8;
const Model model{"tiny", 2, 12, 4, 5, 11};

AdamW optimizer() {
  AdamW optimizer;
  optimizer.learning_rate = 1e-2;
  optimizer.clip_norm = 0.1;
  return optimizer;
}

LocalBatch local(const Batch& batch, const ProcessGrid& grid, std::int64_t rank,
                 std::int64_t micro_batches) {
  LocalBatch own;
  own.sequences = batch.sequences;
  for (std::int64_t m = 0; m < micro_batches; ++m) {
    const Share part = share(grid, rank, m, batch.sequences / micro_batches * model.sequence);
    for (std::int64_t i = part.first; i < part.first + part.count; ++i) {
      own.tokens.push_back(batch.tokens[static_cast<std::size_t>(i)]);
      own.targets.push_back(batch.targets[static_cast<std::size_t>(i)]);
    }
  }
  return own;
}

struct OneRank {
  OneRank(const Schedule& schedule, const ProcessGrid& grid, std::int64_t number,
          Meetings& meetings)
      : rank(number),
        weights(schedule.program, grid, rank, backend.memory()),
        communicators(meetings.of_rank(rank, schedule.program.channels, backend.memory())) {
    weights.initialise(model, seed);
    std::vector<Communicator*> means;
    for (const auto& one : communicators) means.push_back(one.get());
    executor.emplace(model, schedule, sequences, ExecutorMeans{weights, backend, means, {}});
  }

  std::int64_t rank = 0;
  ReferenceBackend backend;
  Weights weights;
  std::vector<std::unique_ptr<ThreadCommunicator>> communicators;
  std::optional<Executor> executor;
  double norm = 0.0;
  std::string failure;
};

TEST(NewSharding, IsExecutedAsTheRefereeSays) {
  const ProcessGrid grid(2, 2, 2, 1);
  StepOptions options;
  options.precision = Precision::fp32;
  options.micro_batches = 2;
  const Schedule schedule = schedule_of(model, {Axis::z}, options);
  Lockstep<float> referee(model, schedule, grid, seed, Rounding::recorded);
  Meetings meetings(grid);
  std::vector<std::unique_ptr<OneRank>> ranks;
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    ranks.push_back(std::make_unique<OneRank>(schedule, grid, rank, meetings));
  }
  const auto batch_of = [](std::int64_t step) {
    return random_batch(model, sequences, static_cast<std::uint64_t>(step));
  };
  double norm = 0.0;
  for (std::int64_t step = 1; step <= steps; ++step) {
    norm = referee.step(batch_of(step), optimizer()).gradient_norm;
  }

  std::vector<std::thread> threads;
  for (const auto& rank : ranks) {
    threads.emplace_back([&, &own = *rank] {
      try {
        for (std::int64_t step = 1; step <= steps; ++step) {
          const LocalBatch batch = local(batch_of(step), grid, own.rank, options.micro_batches);
          own.norm = own.executor->step(batch, optimizer(), step).gradient_norm;
        }
      } catch (const std::exception& error) {
        own.failure = error.what();
        meetings.give_up();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (const auto& rank : ranks) {
    ASSERT_EQ(rank->failure, "");
    EXPECT_EQ(rank->norm, norm);
    for (const Stored& stored : rank->weights.all()) {
      const Matrix<float> expected =
          scatter(stored.shape, grid, rank->rank, referee.weight_on(0, stored.name));
      const std::vector<float> own = numbers_of(*stored.memory, stored.block);
      ASSERT_EQ(own.size(), expected.values.size());
      EXPECT_EQ(std::memcmp(own.data(), expected.values.data(), own.size() * sizeof own[0]), 0)
          << stored.name << " of rank " << rank->rank;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
