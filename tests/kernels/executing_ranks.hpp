// Executors on ranks that are threads of this process, each with its weights and communicators, and
// what they differ by from the referee.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/batch.hpp"
#include "engine/cpu/reference_backend.hpp"
#include "engine/executor.hpp"
#include "engine/plan/block_place.hpp"
#include "engine/reference/lockstep.hpp"
#include "engine/reference/scatter.hpp"
#include "tests/kernels/thread_ranks.hpp"
#include "tests/train/apart_backend.hpp"

namespace fourfold::tests {

// Ordinary memory, or a device that nobody reaches.
enum class Where : std::uint8_t { host, apart };

inline constexpr std::uint64_t executed_seed = 7;

struct OneRank {
  OneRank(const Model& model, Schedule its_schedule, const ProcessGrid& grid,
          std::int64_t sequences, std::int64_t number, Where where, Meetings& meetings)
      : rank(number),
        schedule(std::move(its_schedule)),
        apart(reference, MemoryReach::device),
        backend(where == Where::host ? static_cast<Backend&>(reference) : apart),
        weights(schedule.program, grid, rank, backend.memory()),
        communicators(meetings.of_rank(rank, schedule.program.channels, backend.memory())),
        executor(model, schedule, sequences, {weights, backend, pointers(), {}}) {
    weights.initialise(model, executed_seed);
  }
  std::vector<Communicator*> pointers() const {
    std::vector<Communicator*> result;
    for (const auto& one : communicators) result.push_back(one.get());
    return result;
  }
  int disturbed() const {
    int sum = 0;
    for (const auto& one : communicators) sum += one->disturbed();
    return sum;
  }
  // Elements of the blocks, padding included, that are not those of the referee's stage.
  std::int64_t differing(const Lockstep<float>& referee) const {
    std::int64_t count = 0;
    const std::int64_t stage = stage_of(weights.grid(), rank).index;
    for (const Stored& stored : weights.all()) {
      const Matrix<float> expected =
          scatter(stored.shape, weights.grid(), rank, referee.weight_on(stage, stored.name));
      const std::vector<float> own = numbers_of(*stored.memory, stored.block);
      for (std::size_t i = 0; i < own.size(); ++i) {
        count += std::memcmp(&own[i], &expected.values[i], sizeof own[i]) == 0 ? 0 : 1;
      }
    }
    return count;
  }

  std::int64_t rank = 0;
  Schedule schedule;
  ReferenceBackend reference;
  ApartBackend apart;
  Backend& backend;
  Weights weights;
  std::vector<std::unique_ptr<ThreadCommunicator>> communicators;
  Executor executor;
  std::vector<ExecutedStep> steps;
  std::string failure;
};

// A rank's words of a step of micro-batches of so many tokens.
inline LocalBatch local_batch(const Batch& batch, const ProcessGrid& grid, std::int64_t rank,
                              std::int64_t micro_batch_tokens) {
  LocalBatch own;
  own.sequences = batch.sequences;
  for (std::int64_t m = 0; m < std::ssize(batch.tokens) / micro_batch_tokens; ++m) {
    const Share part = share(grid, rank, m, micro_batch_tokens);
    for (std::int64_t i = part.first; i < part.first + part.count; ++i) {
      own.tokens.push_back(batch.tokens[static_cast<std::size_t>(i)]);
      own.targets.push_back(batch.targets[static_cast<std::size_t>(i)]);
    }
  }
  return own;
}

// All at once; nobody waits for one that has failed.
inline void work_on_all(const std::vector<std::unique_ptr<OneRank>>& ranks, Meetings& meetings,
                        const std::function<void(OneRank&)>& work) {
  std::vector<std::thread> threads;
  for (const auto& rank : ranks) {
    threads.emplace_back([&work, &meetings, &own = *rank] {
      try {
        work(own);
      } catch (const std::exception& error) {
        own.failure = error.what();
        meetings.give_up();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace fourfold::tests
