// The executor's steps beside the referee's, bit by bit: loss, norm, weights, masters and moments.
// The referee walks all ranks of a case, so that each rank referees some of the cases and tells the
// others what they should hold.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include "engine/reference/scatter.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/train/one_run.hpp"

namespace fourfold::tests {

inline std::string described(const Case& what) {
  const StepOptions& o = what.options;
  return what.model.name + " on " + what.grid.str() + " " + name(o.precision) + " " + described(o) +
         " " + name(o.order) + " ZeRO " + std::to_string(o.zero) + " " + name(o.attention) +
         " buckets " + std::to_string(o.data_bucket) + " " + std::to_string(o.offload_bucket);
}

// A case, and each way in which its messages are moved.
struct Compared {
  Case what;
  std::vector<Means> means{Means{}};
};

// What the referee says of a case.
struct Refereed {
  std::vector<double> found;    // loss and norm of each step
  std::vector<int> counts;      // of elements, by rank
  std::vector<float> elements;  // of the blocks of all ranks, padding included
};

inline Refereed refereed(const Case& what) {
  const auto ranks = static_cast<std::size_t>(what.grid.size());
  Refereed result{
      std::vector<double>(2 * static_cast<std::size_t>(what.steps)), std::vector<int>(ranks), {}};
  try {
    const Referee referee(what);
    for (std::size_t i = 0; i < referee.steps.size(); ++i) {
      result.found[2 * i] = referee.steps[i].loss;
      result.found[2 * i + 1] = referee.steps[i].gradient_norm;
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto of = static_cast<std::int64_t>(rank);
      const Stage stage = stage_of(what.grid, of);
      HostMemory memory;
      const Weights blocks(record_step(what.model, what.options, stage), what.grid, of, memory);
      const std::size_t before = result.elements.size();
      for (const Stored& stored : blocks.all()) {
        const Matrix<float> expected =
            scatter(stored.shape, what.grid, of, referee.run.weight_on(stage.index, stored.name));
        result.elements.insert(result.elements.end(), expected.values.begin(),
                               expected.values.begin() + stored.block.size());
      }
      result.counts[rank] = static_cast<int>(result.elements.size() - before);
    }
  } catch (const std::exception& error) {
    ADD_FAILURE() << "the referee of " << described(what) << ": " << error.what();
  }
  return result;
}

// Asleep, and not in the way of the rank that is waited for.
inline void finish_asleep(MPI_Request request) {
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

// On every rank its own part of what `root` knows.
inline Refereed handed_out(const Refereed& all, const Case& what, int root) {
  Refereed own{std::vector<double>(2 * static_cast<std::size_t>(what.steps)), {0}, {}};
  if (rank_in(MPI_COMM_WORLD) == root) own.found = all.found;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iscatter(all.counts.data(), 1, MPI_INT, own.counts.data(), 1, MPI_INT, root, MPI_COMM_WORLD,
               &request);
  finish_asleep(request);
  MPI_Ibcast(own.found.data(), static_cast<int>(own.found.size()), MPI_DOUBLE, root, MPI_COMM_WORLD,
             &request);
  finish_asleep(request);
  own.elements.resize(static_cast<std::size_t>(own.counts[0]));
  std::vector<int> firsts(all.counts.size());
  std::exclusive_scan(all.counts.begin(), all.counts.end(), firsts.begin(), 0);
  MPI_Iscatterv(all.elements.data(), all.counts.data(), firsts.data(), MPI_FLOAT,
                own.elements.data(), own.counts[0], MPI_FLOAT, root, MPI_COMM_WORLD, &request);
  finish_asleep(request);
  return own;
}

// Elements of this rank's blocks, one block after the other.
inline std::vector<float> elements_of(const Weights& weights) {
  std::vector<float> elements;
  for (const Stored& stored : weights.all()) {
    const std::vector<float> block = numbers_of(*stored.memory, stored.block);
    elements.insert(elements.end(), block.begin(), block.end());
  }
  return elements;
}

inline std::int64_t differing(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::max(std::ssize(a), std::ssize(b));
  return std::transform_reduce(
      a.begin(), a.end(), b.begin(), std::int64_t{0}, std::plus{}, [](float x, float y) {
        return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ? 0 : 1;
      });
}

// Calls `compare` with each case, each of its means and what the referee says, on all ranks alike.
template <typename Compare>
void with_referee(const std::vector<Compared>& all, const Compare& compare) {
  const auto ranks = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
  const auto rank = static_cast<std::size_t>(rank_in(MPI_COMM_WORLD));
  std::vector<Refereed> own(all.size());
  for (std::size_t i = rank; i < all.size(); i += ranks) own[i] = refereed(all[i].what);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [what, ways] = all[i];
    const Refereed expected = handed_out(own[i], what, static_cast<int>(i % ranks));
    for (const Means& means : ways) {
      SCOPED_TRACE(described(what) + " " + name(means.transport) + " " + name(means.progress));
      compare(what, means, expected);
    }
  }
}

inline void expect_bitwise_equal(const std::vector<Compared>& all) {
  with_referee(all, [](const Case& what, const Means& means, const Refereed& expected) {
    ReferenceBackend backend;
    OneRun run(what, means, backend);
    const Stage stage = stage_of(what.grid, run.rank);
    for (std::int64_t number = 1; number <= what.steps; ++number) {
      const ExecutedStep step = run.step(number);

      const auto at = 2 * static_cast<std::size_t>(number - 1);
      EXPECT_EQ(step.loss, stage.last() ? expected.found[at] : 0.0);
      EXPECT_EQ(step.gradient_norm, expected.found[at + 1]);
      EXPECT_GT(step.gradient_norm, optimizer_of_tests().clip_norm) << "nothing is clipped";
    }
    EXPECT_EQ(differing(elements_of(run.weights), expected.elements), 0);
  });
}

inline void expect_bitwise_equal(const std::vector<Case>& cases) {
  std::vector<Compared> all;
  for (const Case& what : cases) all.push_back({what});
  expect_bitwise_equal(all);
}

// Trains both, step by step.
inline void expect_same_bits(OneRun& run, OneRun& other) {
  for (std::int64_t number = 1; number <= run.what.steps; ++number) {
    const ExecutedStep expected = other.step(number);
    const ExecutedStep step = run.step(number);
    EXPECT_EQ(step.loss, expected.loss);
    EXPECT_EQ(step.gradient_norm, expected.gradient_norm);
  }
  EXPECT_EQ(differences(run.weights, other.weights), std::vector<std::string>{});
}

}  // namespace fourfold::tests
