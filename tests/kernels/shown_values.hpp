// A small program walked by the referee and executed by ranks that are threads: what each device
// has of the values that the program shows, in order.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "schedule/program/recorder.hpp"
#include "tests/kernels/executing_ranks.hpp"

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
    Lockstep<float> referee(model_, schedule_, grid_, executed_seed);
    for (const auto& kernel : kernels_) referee.add_kernel(kernel);
    referee.step(batch(), {});
    return referee;
  }

  // What executors on ordinary memory show in one step.
  Values executed() const {
    seen().clear();
    Meetings meetings(grid_);
    std::vector<std::unique_ptr<OneRank>> ranks;
    for (std::int64_t rank = 0; rank < grid_.size(); ++rank) {
      ranks.push_back(std::make_unique<OneRank>(model_, schedule_, grid_, grid_.size(), rank,
                                                Where::host, meetings));
      for (const auto& kernel : kernels_) ranks.back()->reference.add_kernel(kernel);
    }
    const Batch all = batch();
    work_on_all(ranks, meetings, [&](OneRank& own) {
      own.executor.step(local_batch(all, grid_, own.rank, std::ssize(all.tokens)), {}, 1);
    });
    for (const auto& rank : ranks) EXPECT_EQ(rank->failure, "");
    return seen();
  }

  // They are the bits of the referee's values, which are shown in this order.
  void expect_executed(const Lockstep<float>& referee, const std::vector<Id>& shown) const {
    Values all = executed();
    for (std::int64_t rank = 0; rank < grid_.size(); ++rank) {
      ASSERT_EQ(all[rank].size(), shown.size());
      for (std::size_t i = 0; i < shown.size(); ++i) {
        EXPECT_EQ(all[rank][i], referee.kept(shown[i])[static_cast<std::size_t>(rank)].values)
            << "rank " << rank << " value " << i;
      }
    }
  }

 private:
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

  Model model_;
  Schedule schedule_;
  ProcessGrid grid_;
  std::vector<reference::Kernel<float>> kernels_;
};

}  // namespace fourfold::tests
