// The backend: a device's memory and all that it computes, so that another kind of device is
// another backend; with what it is told: blocks as tensors, and its place on the grid.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/bf16.hpp"
#include "engine/device_memory.hpp"
#include "engine/reference/adamw_step.hpp"
#include "schedule/models/model.hpp"
#include "schedule/program/program.hpp"
#include "schedule/program/step_options.hpp"

namespace fourfold::inline engine {

// Row by row, without gaps. Does not own its memory: the arena and the weights do. Flat pieces and
// packs have one row.
struct Tensor {
  std::byte* data = nullptr;  // in the device's memory: only the backend follows it
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Precision precision = Precision::fp32;

  std::int64_t size() const { return rows * cols; }
  std::int64_t bytes() const { return size() * bytes_per_element(precision); }
  // So many elements from the first on, as one row.
  Tensor stretch(std::int64_t first, std::int64_t count) const {
    return {data + first * bytes_per_element(precision), 1, count, precision};
  }
  // For the backend, which knows the precision.
  float* fp32() const { return reinterpret_cast<float*>(data); }
  std::uint16_t* bf16() const { return reinterpret_cast<std::uint16_t*>(data); }
  std::int32_t* int32() const { return reinterpret_cast<std::int32_t*>(data); }
};

// The elements as fp32, brought to the host.
inline std::vector<float> numbers_of(DeviceMemory& memory, const Tensor& tensor) {
  std::vector<float> numbers(static_cast<std::size_t>(tensor.size()));
  if (tensor.precision == Precision::fp32) {
    memory.copy_out(reinterpret_cast<std::byte*>(numbers.data()), tensor.data, tensor.bytes());
    return numbers;
  }
  std::vector<std::uint16_t> bits(numbers.size());
  memory.copy_out(reinterpret_cast<std::byte*>(bits.data()), tensor.data, tensor.bytes());
  std::transform(bits.begin(), bits.end(), numbers.begin(), from_bf16_bits);
  return numbers;
}

// Whole numbers, brought to the host.
inline std::vector<std::int32_t> whole_numbers_of(DeviceMemory& memory, const Tensor& tensor) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(tensor.size()));
  memory.copy_out(reinterpret_cast<std::byte*>(numbers.data()), tensor.data, tensor.bytes());
  return numbers;
}

// What a kernel has to know beside its operands: nothing here differs between two operations.
struct Device {
  const Program* program = nullptr;
  ProcessGrid grid;
  std::int64_t rank = 0;
  std::int64_t head_columns = 0;  // of one head
  // That count towards the loss, of all micro-batches on all devices: it is their mean.
  std::int64_t step_targets = 0;
  double clip_norm = 1.0;
  double norm_epsilon = 1e-5;
  Rotary rotary{};
  // Tokens that are there of each sequence, with those that the step reads.
  std::int64_t length = 0;

  // The row of the whole value that is this device's first; parts of rows are equal.
  std::int64_t first_row(Id value, std::int64_t local_rows) const {
    return (*program)[value].shape.sharding.rows.part(grid, rank) * local_rows;
  }
};

// Called between tiles of long work, so that collectives advance meanwhile; may be empty. The
// tiling does not depend on it: results are bitwise the same with and without.
using ProgressCall = std::function<void()>;

// Local blocks. `inputs` stand in the operation's order, an empty tensor where the operand is
// words; those are in `words`, in memory of the host that stays as it is until the step ends. Of
// maps and adds, `output` may be the very memory of an input. What the function writes in place
// (Function::writes) is the memory of that input.
struct KernelOperands {
  std::vector<Tensor> inputs;
  std::span<const std::int32_t> words;
  Tensor output;
};

// What one parameter's update reads and writes. Master and weight are the same memory where weights
// are kept in fp32, but for masters that ranks share out (ZeRO).
struct UpdateOperands {
  Tensor gradient;      // one row, fp32 or bf16, as many elements as the shard
  float factor = 1.0F;  // of clipping
  Tensor weight, master, first_moment, second_moment;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Where all operands are. What follows is in one order with what is asked of the memory.
  virtual DeviceMemory& memory() = 0;
  // Everything but collectives, packs and the update. Sums are kept in fp32; a bf16 result is
  // rounded once, to nearest even.
  virtual void compute(const Device& device, const Op& op, const KernelOperands& operands,
                       const ProgressCall& progress) = 0;
  virtual void update(const reference::AdamWStep& step, const UpdateOperands& operands,
                      const ProgressCall& progress) = 0;
};

}  // namespace fourfold::inline engine
