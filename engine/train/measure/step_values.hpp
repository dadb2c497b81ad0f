// The values of a step on one rank, each with memory of its own, so that any operation can be
// computed at any time.
#pragma once

#include <vector>

#include "engine/cpu/tuned_backend.hpp"
#include "engine/device_memory.hpp"
#include "schedule/models/model.hpp"
#include "schedule/program/program.hpp"

namespace fourfold::inline engine::inline train::inline measure {

// Training without --precision, and a step of it on one rank.
StepOptions in_fp32();
Program recorded_in_fp32(const Model& model);

class StepValues {
 public:
  StepValues(const Model& model, std::int64_t sequences, const StepOptions& options = in_fp32());

  const Program& program() const { return program_; }
  std::int64_t tokens() const { return std::ssize(words_); }
  const Tensor& operator[](Id id) const { return tensors_[static_cast<std::size_t>(id)]; }
  // Whether a kernel does it: not collectives, messages, and packs.
  static bool is_kernel(const Op& op);
  // All operands and the result, in bytes.
  double bytes(const Op& op) const;
  void run(TunedBackend& backend, const Op& op) const;

 private:
  void update(TunedBackend& backend, const Op& op) const;

  Program program_;
  HostMemory memory_;
  std::vector<DeviceBlock> blocks_;
  std::vector<Tensor> tensors_;  // by value
  std::vector<std::int32_t> words_;
  Device device_;
};

}  // namespace fourfold::inline engine::inline train::inline measure
