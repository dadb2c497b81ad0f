// Stretches of a tensor read and written as fp32: in its own memory, or by way of a scratch buffer
// of the stretch's size that stays in the cache.
#pragma once

#include "engine/backend.hpp"
#include "engine/bf16.hpp"
#include "engine/cpu/row_maps.hpp"

namespace fourfold::inline engine::inline cpu {

// Element `i`, whatever the tensor is stored in.
inline float number(const Tensor& tensor, std::int64_t i) {
  return tensor.precision == Precision::fp32 ? tensor.fp32()[i] : from_bf16_bits(tensor.bf16()[i]);
}

class Reader {
 public:
  // `scratch` has room for the longest stretch.
  Reader(const Tensor& tensor, float* scratch) : tensor_(tensor), scratch_(scratch) {}

  const float* stretch(std::int64_t first, std::int64_t n) const {
    if (tensor_.precision == Precision::fp32) return tensor_.fp32() + first;
    rows::widen(tensor_.bf16() + first, n, scratch_);
    return scratch_;
  }
  const float* row(std::int64_t r) const { return stretch(r * tensor_.cols, tensor_.cols); }

 private:
  Tensor tensor_;
  float* scratch_;
};

class Writer {
 public:
  Writer(const Tensor& tensor, float* scratch) : tensor_(tensor), scratch_(scratch) {}

  // Where to put the numbers of a stretch; they are in the tensor once it is finished.
  float* stretch(std::int64_t first) const {
    return tensor_.precision == Precision::fp32 ? tensor_.fp32() + first : scratch_;
  }
  void finish(std::int64_t first, std::int64_t n) const {
    if (tensor_.precision == Precision::bf16) rows::narrow(scratch_, n, tensor_.bf16() + first);
  }
  float* row(std::int64_t r) const { return stretch(r * tensor_.cols); }
  void finish_row(std::int64_t r) const { finish(r * tensor_.cols, tensor_.cols); }

 private:
  Tensor tensor_;
  float* scratch_;
};

// Flat work is done in stretches of this many numbers: several operands of it fit the first cache.
inline constexpr std::int64_t stretch_numbers = 2048;

}  // namespace fourfold::inline engine::inline cpu
