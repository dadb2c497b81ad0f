// One device's block of a value as the real engine sees it: memory, extents and precision. The
// lockstep referee works on matrices of its own; this is what kernels and collectives are given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/bf16.hpp"
#include "schedule/step_options.hpp"

namespace fourfold {

// Row by row, without gaps. Does not own its memory: the arena and the weights do. Flat pieces and
// packs have one row.
struct Tensor {
  std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Precision precision = Precision::fp32;

  std::int64_t size() const { return rows * cols; }
  std::int64_t bytes() const { return size() * bytes_per_element(precision); }
  // The caller knows the precision.
  float* fp32() const { return reinterpret_cast<float*>(data); }
  std::uint16_t* bf16() const { return reinterpret_cast<std::uint16_t*>(data); }
};

// Element `i` of the block, whatever it is stored in.
inline float number(const Tensor& tensor, std::int64_t i) {
  return tensor.precision == Precision::fp32 ? tensor.fp32()[i] : from_bf16_bits(tensor.bf16()[i]);
}

}  // namespace fourfold
