// The referee: all ranks of a process grid in one process, real numbers, plain loops. It walks the
// same stream that is simulated, does nothing the stream does not say, and refuses a stream that
// reads a value before its wait, after its release, or while an all-reduce may overwrite it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/adamw.hpp"
#include "engine/batch.hpp"
#include "engine/reference/block_store.hpp"
#include "engine/reference/compute.hpp"
#include "schedule/models/model.hpp"
#include "schedule/order/issue.hpp"
#include "support/quantity.hpp"

namespace fourfold {

struct StepResult {
  double loss = 0.0;           // mean over the step's tokens
  double gradient_norm = 0.0;  // before clipping
  // Bytes of one rank's buffers in the collectives of a channel, by its number, in the recorded
  // precision: what is gathered, or what is reduced. Nothing where a line has one member.
  std::vector<Bytes> payload;
};

// T is double where it referees finite differences and grids, float where it stands for a real run.
template <typename T>
class Lockstep {
 public:
  // Weights start as initial_weight says. Throws std::invalid_argument if the grid does not divide
  // the model.
  Lockstep(const Model& model, const StepOptions& options, const ProcessGrid& grid,
           std::uint64_t seed, Rounding rounding = Rounding::none);
  // Walks a given schedule of that model's step: what tests hand in broken.
  Lockstep(const Model& model, Schedule schedule, const ProcessGrid& grid, std::uint64_t seed,
           Rounding rounding = Rounding::none);

  // A function of one's own, for schedules that use it.
  void add_kernel(const reference::Kernel<T>& kernel) { kernels_.add(kernel); }

  StepResult step(const Batch& batch, const AdamW& optimizer);

  std::vector<std::string> parameters() const { return store_.parameters(); }
  // Global matrices, put together from all ranks: a weight, and its gradient in the last step.
  Matrix<T> weight(const std::string& parameter) const { return store_.global(parameter); }
  Matrix<T> gradient(const std::string& parameter) const;
  void set_weight(const std::string& parameter, const Matrix<T>& global);
  // What each rank holds of a value that the program keeps, after a step.
  const Blocks<T>& kept(Id id) const { return store_[id]; }

 private:
  const Op& op_at(std::int32_t i) const {
    return store_.program().ops[static_cast<std::size_t>(i)];
  }
  std::string name_of(Id id) const { return store_.program()[id].label.full(); }
  void expect_readable(Id id, const Op& op) const;

  void compute(std::int32_t i, const Batch& batch);
  void kernel(std::int32_t i, const Batch& batch);
  void pack(const Op& op);
  void unpack(const Op& op);
  void update(const Op& op);
  void start(std::int32_t i);
  void wait(const Issue& issue);
  void observe(const Op& op);

  Model model_;
  std::vector<Issue> stream_;
  BlockStore<T> store_;
  reference::Kernels<T> kernels_;
  std::int64_t micro_batches_ = 1;
  std::map<std::string, Blocks<T>> gradients_;  // by parameter
  std::vector<std::int32_t> in_flight_;         // started collectives that nobody has waited for
  std::vector<std::int32_t> post_number_;       // by operation: its number on its channel
  std::vector<std::int32_t> posts_;             // by channel
  AdamW optimizer_;
  std::int64_t steps_done_ = 0;
  std::int64_t micro_batch_tokens_ = 0;
  StepResult result_;
};

}  // namespace fourfold
