// A small program with an all-to-all, its way back and a broadcast, on 1, 2 and 4 ranks: the
// referee holds the same matrix however it lies, and the executor holds the referee's bits.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <thread>

#include "engine/batch.hpp"
#include "engine/cpu/reference_backend.hpp"
#include "engine/executor.hpp"
#include "engine/reference/lockstep.hpp"
#include "engine/reference/scatter.hpp"
#include "schedule/program/recorder.hpp"
#include "tests/kernels/thread_ranks.hpp"

namespace fourfold::inline schedule::inline program::functions {

// Adds the number of the device, so that copies differ.
inline constexpr Function numbered{.name = "numbered", .in_place = false};
// Shows what a device has to the test.
inline constexpr Function shown{.name = "shown", .in_place = false};

}  // namespace fourfold::inline schedule::inline program::functions

namespace fourfold::tests {
namespace {

constexpr std::uint64_t seed = 7;
const Model model{"tiny", 2, 16, 4, 8, 11};

// Of the executor: what each device has shown, in order.
std::mutex mutex;
std::map<std::int64_t, std::vector<std::vector<float>>> seen;

void number(const Device& device, const Op&, const reference::Operands<float>& o) {
  for (std::int64_t i = 0; i < o.output.size(); ++i) {
    o.output[i] = o.inputs[0][i] + static_cast<float>(device.rank);
  }
}

void show(const Device& device, const Op&, const reference::Operands<float>& o) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < o.output.size(); ++i) {
    values.push_back(o.output[i] = o.inputs[0][i]);
  }
  const std::lock_guard lock(mutex);
  seen[device.rank].push_back(std::move(values));
}

struct Recorded {
  Schedule schedule;
  Id before = -1, cut = -1, back = -1, spread = -1;
};

Recorded recorded() {
  Recorded result;
  Recorder r(Precision::fp32, OptimizerState::none);
  r.begin_section("alone", -1);
  const Shape by_rows{8, 16, {{Axis::x}, {}, {}, {}}};
  const Parameter weight = r.parameter("weight", by_rows, WeightKind::matrix);
  const Parameter copied = r.parameter("copied", {3, 5, {}}, WeightKind::matrix);
  const auto see = [&](const char* label, Id value) {
    const Id id = r.map({functions::shown, label, Precision::fp32}, {value});
    r.keep(id);
    return id;
  };
  const Id twice = r.add("twice", {weight.weight, weight.weight}, Precision::fp32);
  result.before = see("before", twice);
  const Id cut = r.all_to_all(twice, Axis::x, Direction::cols, Hiding::never);
  result.cut = see("cut", cut);
  const Id back = r.all_to_all(cut, Axis::x, Direction::rows, Hiding::never);
  result.back = see("back", back);
  const Id own = r.map({functions::numbered, "own", Precision::fp32}, {copied.weight});
  result.spread = see("spread", r.broadcast(own, Axis::x, Hiding::never));
  result.schedule = issue(r.finish(), {});
  return result;
}

class Exchanges : public testing::TestWithParam<int> {
 protected:
  Exchanges() : grid(GetParam(), 1, 1, 1), referee(model, what.schedule, grid, seed) {
    referee.add_kernel({&functions::numbered, number});
    referee.add_kernel({&functions::shown, show});
    referee.step(batch, {});
  }

  Matrix<float> whole(Id id) const {
    return gather(what.schedule.program[id].shape, grid, referee.kept(id));
  }

  Recorded what = recorded();
  ProcessGrid grid;
  Batch batch = random_batch(model, 4, 1);
  Lockstep<float> referee;
};

TEST_P(Exchanges, ChangeHowAMatrixLiesAndNotWhatItIs) {
  const Matrix<float> before = whole(what.before);

  EXPECT_EQ(whole(what.cut).values, before.values);
  EXPECT_EQ(whole(what.back).values, before.values);
  EXPECT_EQ(referee.kept(what.cut)[0].cols, 16 / GetParam());
  EXPECT_GT(*std::ranges::max_element(before.values), 0.0F);
}

TEST_P(Exchanges, BroadcastTheFirstMembersNumbers) {
  for (const Matrix<float>& own : referee.kept(what.spread)) {
    EXPECT_EQ(own.values, referee.kept(what.spread)[0].values);
    EXPECT_EQ(own.values, referee.weight("copied").values);
  }
}

TEST_P(Exchanges, GiveTheRefereesBits) {
  seen.clear();
  Meetings meetings(grid);
  std::vector<std::thread> threads;
  std::vector<std::string> failures(static_cast<std::size_t>(grid.size()));
  std::vector<std::vector<std::unique_ptr<ThreadCommunicator>>> communicators;
  std::vector<ReferenceBackend> backends(static_cast<std::size_t>(grid.size()));
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    communicators.push_back(meetings.of_rank(rank, what.schedule.program.channels,
                                             backends[static_cast<std::size_t>(rank)].memory()));
  }
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const auto number_of_rank = static_cast<std::size_t>(rank);
      try {
        ReferenceBackend& backend = backends[number_of_rank];
        backend.add_kernel({&functions::numbered, number});
        backend.add_kernel({&functions::shown, show});
        Weights weights(what.schedule.program, grid, rank, backend.memory());
        weights.initialise(model, seed);
        std::vector<Communicator*> means;
        for (const auto& one : communicators[number_of_rank]) means.push_back(one.get());
        Executor executor(model, what.schedule, batch.sequences, {weights, backend, means, {}});
        executor.step({batch.sequences, batch.tokens, batch.targets}, {}, 1);
      } catch (const std::exception& error) {
        failures[number_of_rank] = error.what();
        meetings.give_up();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    const auto number_of_rank = static_cast<std::size_t>(rank);
    ASSERT_EQ(failures[number_of_rank], "");
    const std::array all{what.before, what.cut, what.back, what.spread};
    ASSERT_EQ(seen[rank].size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(seen[rank][i], referee.kept(all[i])[number_of_rank].values) << rank << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnRanks, Exchanges, testing::Values(1, 2, 4));

}  // namespace
}  // namespace fourfold::tests
