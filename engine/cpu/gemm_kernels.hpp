// Every way to compute a matrix product, behind one call, with what they keep compiled.
#pragma once

#include "engine/cpu/bf16_gemm.hpp"
#include "engine/cpu/kernel_choices.hpp"

namespace fourfold::inline engine::inline cpu {

class GemmKernels {
 public:
  // Uses slots 0 to 2 of the scratch.
  void multiply(const TensorProduct& product, const GemmKernel& kernel, Scratch& scratch,
                const ProgressCall& progress);
  // Brings up what a kernel needs beside the operands' memory, which may be missing: libraries
  // compile their code and take their buffers when they first compute.
  void prepare(const TensorProduct& product, const GemmKernel& kernel, Scratch& scratch);

 private:
  Bf16Gemm bf16_;
};

// All that can compute the product: {OpenBLAS, oneDNN} x {NN, NT, TN} in fp32, and oneDNN in bf16
// as it is recorded where both operands are bf16 and the processor can.
std::vector<GemmKernel> candidates(const Product& product);
// What computes it where nothing has been timed: oneDNN as it is recorded, in bf16 where both
// operands are and this processor is faster so (timed once a process).
GemmKernel untuned(const Product& product);

}  // namespace fourfold::inline engine::inline cpu
