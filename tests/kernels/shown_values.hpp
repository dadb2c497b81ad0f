// A small program walked by the referee and executed by ranks that are threads: what each device
// has of the values that the program shows, in order.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/batch.hpp"
#include "engine/cpu/reference_backend.hpp"
#include "engine/executor.hpp"
#include "engine/reference/lockstep.hpp"
#include "schedule/program/recorder.hpp"
#include "tests/kernels/thread_ranks.hpp"

namespace fourfold::inline schedule::inline program::functions {

// Shows what a device has to the test.
inline constexpr Function shown{.name = "shown", .in_place = false};

}  // namespace fourfold::inline schedule::inline program::functions

namespace fourfold::tests {

class ShownValues {
 public:
  // By rank; what is shown first stands first.
  using Values = std::map<std::int64_t, std::vector<std::vector<float>>>;

  // Records that a value is shown, and keeps it. The program shows values in the order of these
  // calls.
  static Id show(Recorder& r, const std::string& label, Id value) {
    const Id id = r.map({functions::shown, label, Precision::fp32}, {value});
    r.keep(id);
    return id;
  }

  ShownValues(const Model& model, const Schedule& schedule, const ProcessGrid& grid,
              std::vector<reference::Kernel<float>> kernels = {})
      : model_(model), schedule_(schedule), grid_(grid), kernels_(std::move(kernels)) {
    kernels_.push_back({&functions::shown, tell});
  }

  // The referee after one step.
  Lockstep<float> refereed() const {
    Lockstep<float> referee(model_, schedule_, grid_, seed);
    for (const auto& kernel : kernels_) referee.add_kernel(kernel);
    referee.step(batch(), {});
    return referee;
  }

  // What executors on ordinary memory show in one step.
  Values executed() const {
    seen().clear();
    Meetings meetings(grid_);
    const auto ranks = static_cast<std::size_t>(grid_.size());
    std::vector<std::thread> threads;
    std::vector<std::string> failures(ranks);
    std::vector<std::vector<std::unique_ptr<ThreadCommunicator>>> communicators;
    std::vector<ReferenceBackend> backends(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      communicators.push_back(meetings.of_rank(
          static_cast<std::int64_t>(rank), schedule_.program.channels, backends[rank].memory()));
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          execute(static_cast<std::int64_t>(rank), backends[rank], communicators[rank]);
        } catch (const std::exception& error) {
          failures[rank] = error.what();
          meetings.give_up();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& failure : failures) EXPECT_EQ(failure, "");
    return seen();
  }

 private:
  static constexpr std::uint64_t seed = 7;

  static Values& seen() {
    static Values values;
    return values;
  }
  static void tell(const Device& device, const Op&, const reference::Operands<float>& o) {
    static std::mutex mutex;
    std::vector<float> values;
    for (std::int64_t i = 0; i < o.output.size(); ++i) {
      values.push_back(o.output[i] = o.inputs[0][i]);
    }
    const std::lock_guard lock(mutex);
    seen()[device.rank].push_back(std::move(values));
  }

  Batch batch() const { return random_batch(model_, grid_.size(), 1); }
  void execute(std::int64_t rank, ReferenceBackend& backend,
               const std::vector<std::unique_ptr<ThreadCommunicator>>& communicators) const {
    for (const auto& kernel : kernels_) backend.add_kernel(kernel);
    Weights weights(schedule_.program, grid_, rank, backend.memory());
    weights.initialise(model_, seed);
    std::vector<Communicator*> means;
    for (const auto& one : communicators) means.push_back(one.get());
    Executor executor(model_, schedule_, grid_.size(), {weights, backend, means, {}});
    const Batch all = batch();
    const Share own = share(grid_, rank, 0, std::ssize(all.tokens));
    const auto first = all.tokens.begin() + static_cast<std::ptrdiff_t>(own.first);
    LocalBatch local{all.sequences, {first, first + static_cast<std::ptrdiff_t>(own.count)}, {}};
    local.targets = local.tokens;
    executor.step(local, {}, 1);
  }

  Model model_;
  Schedule schedule_;
  ProcessGrid grid_;
  std::vector<reference::Kernel<float>> kernels_;
};

}  // namespace fourfold::tests
