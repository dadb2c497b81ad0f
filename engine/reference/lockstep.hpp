// The referee: all ranks of a process grid in one process, real numbers, plain loops. Every stage
// walks the same stream that is simulated (stage_walk.hpp) and waits where it needs another one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/reference/stage_walk.hpp"

namespace fourfold::inline engine::inline reference {

struct StepResult {
  double loss = 0.0;           // mean over the step's tokens
  double gradient_norm = 0.0;  // before clipping
  std::vector<StageResult> stages;
};

// T is double where it referees finite differences and grids, float where it stands for a real run.
template <typename T>
class Lockstep {
 public:
  // Weights start as InitialWeights says. Throws std::invalid_argument if the grid does not divide
  // the model.
  Lockstep(const Model& model, const StepOptions& options, const ProcessGrid& grid,
           std::uint64_t seed, Rounding rounding = Rounding::none);
  // Walks given schedules of that model's step, by stage: what tests hand in broken.
  Lockstep(const Model& model, std::vector<Schedule> stages, const ProcessGrid& grid,
           std::uint64_t seed, Rounding rounding = Rounding::none);
  Lockstep(const Model& model, Schedule schedule, const ProcessGrid& grid, std::uint64_t seed,
           Rounding rounding = Rounding::none)
      : Lockstep(model, std::vector{std::move(schedule)}, grid, seed, rounding) {}

  // A function of one's own, for schedules that use it.
  void add_kernel(const reference::Kernel<T>& kernel);

  // Throws std::logic_error if stages wait for each other for ever.
  StepResult step(const Batch& batch, const AdamW& optimizer);

  // Of all stages, each once.
  std::vector<std::string> parameters() const;
  // Global matrices, put together from all ranks: a weight, and its gradient in the last step. What
  // two stages hold is the first one's.
  Matrix<T> weight(const std::string& parameter) const {
    return holder(parameter).global(parameter);
  }
  Matrix<T> gradient(const std::string& parameter) const;
  void set_weight(const std::string& parameter, const Matrix<T>& global);
  // What each rank of the last stage holds of a value that its program keeps, after a step.
  const Blocks<T>& kept(Id id) const { return walks_.back()->store()[id]; }
  // The caches of a phase that has written some become this one's, by name: of the same model, grid
  // and sequences.
  void take_caches(const Lockstep& from);
  // A stage's own copy of a weight.
  Matrix<T> weight_on(std::int64_t stage, const std::string& parameter) const {
    return walks_[static_cast<std::size_t>(stage)]->store().global(parameter);
  }

 private:
  bool holds(const StageWalk<T>& walk, const std::string& parameter) const;
  const BlockStore<T>& holder(const std::string& parameter) const;

  Model model_;
  ProcessGrid grid_;
  Mailboxes<T> mailboxes_;
  std::vector<std::unique_ptr<StageWalk<T>>> walks_;  // by stage
  std::int64_t steps_done_ = 0;
};

}  // namespace fourfold::inline engine::inline reference
