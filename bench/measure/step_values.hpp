// The values of a training step on one rank, each with memory of its own, so that any kernel of the
// step can be run by itself.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/cpu/tuned_backend.hpp"
#include "schedule/models/model.hpp"

namespace fourfold {

// What a rank trains in one step.
struct Workload {
  Model model;
  std::int64_t sequences = 1;
  std::int64_t tokens() const { return sequences * model.sequence; }
};

class StepValues {
 public:
  StepValues(const Workload& workload, const StepOptions& options);

  const Program& program() const { return program_; }
  const Tensor& operator[](Id id) const { return tensors_[static_cast<std::size_t>(id)]; }
  std::int64_t tokens() const { return workload_.tokens(); }

  // Whether an operation computes, rather than moves or names what is there.
  static bool is_kernel(const Op& op);
  // All operands and the result, in bytes.
  double bytes(const Op& op) const;
  void run(TunedBackend& backend, const Op& op) const;

 private:
  void update(TunedBackend& backend, const Op& op) const;

  Workload workload_;
  ProcessGrid grid_;
  Program program_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<Tensor> tensors_;
  std::vector<std::int32_t> words_;
  Device device_;
};

}  // namespace fourfold
