// A small product that is timed beside other things: how fast this core is at the moment, where
// neighbours that nobody sees (other virtual machines) slow it down.
#pragma once

#include "engine/cpu/gemm_kernels.hpp"

namespace fourfold::inline engine::inline cpu {

// CPU seconds of the calling thread.
double processor_seconds();

class ReferenceProduct {
 public:
  // Of m x k times k x n, all of them this, without transposes, in fp32.
  static constexpr std::int64_t edge = 320;

  ReferenceProduct();
  // CPU seconds of one, the median of a few: some 2 ms in all.
  double seconds();

 private:
  TensorProduct product_;
  GemmKernel kernel_;
  Scratch memory_, scratch_;
  GemmKernels kernels_;
};

}  // namespace fourfold::inline engine::inline cpu
