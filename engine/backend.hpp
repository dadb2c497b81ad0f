// The kernel backend: all that a device computes, behind two calls, so that another kind of device
// can join without the schedule, the executor or the trainer noticing.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/device.hpp"
#include "engine/reference_adamw.hpp"
#include "engine/tensor.hpp"
#include "schedule/program.hpp"

namespace fourfold {

// Called between tiles of long work, so that collectives advance meanwhile; may be empty. The
// tiling does not depend on it: results are bitwise the same with and without.
using Progress = std::function<void()>;

// Local blocks. `inputs` stand in the operation's order, an empty tensor where the operand is
// words; those are in `words`. Of maps and adds, `output` may be the very memory of an input.
struct KernelOperands {
  std::vector<Tensor> inputs;
  std::span<const std::int32_t> words;
  Tensor output;
};

// What one parameter's update reads and writes. Master and weight are the same memory where weights
// are kept in fp32.
struct UpdateOperands {
  Tensor gradient;      // one row, fp32 or bf16, as many elements as the shard
  float factor = 1.0F;  // of clipping
  Tensor weight, master, first_moment, second_moment;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Everything but collectives, packs and the update. Sums are kept in fp32; a bf16 result is
  // rounded once, to nearest even.
  virtual void compute(const Device& device, const Op& op, const KernelOperands& operands,
                       const Progress& progress) = 0;
  virtual void update(const reference::AdamWStep& step, const UpdateOperands& operands,
                      const Progress& progress) = 0;
};

}  // namespace fourfold
