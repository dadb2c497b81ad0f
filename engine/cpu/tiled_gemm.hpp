// A matrix product of tensors, tile by tile, in a chosen library and form.
#pragma once

#include "engine/backend.hpp"
#include "engine/cpu/scratch.hpp"
#include "engine/cpu/sgemm.hpp"

namespace fourfold::inline engine::inline cpu {

// The library and the form in which a product is computed; where the form is not the recorded one,
// operands are transposed first. Arithmetic in bf16 (bf16_gemm.hpp) keeps the recorded form; in
// fp32, operands in bf16 are widened first.
struct GemmKernel {
  Library library = Library::onednn;
  GemmForm form = GemmForm::nn;
  Precision arithmetic = Precision::fp32;
  bool operator==(const GemmKernel&) const = default;
};

struct TensorProduct {
  GemmForm form = GemmForm::nn;  // as recorded: how a and b lie
  Tensor a, b, out;
};

// Takes what multiply() will work in, so that neither the first step nor its memory has to bear it.
void take_scratch(const TensorProduct& product, const GemmKernel& kernel, Scratch& scratch);

// In fp32. Uses slots 0 to 2 of the scratch: a tile of a, of b and of the result.
void multiply(const TensorProduct& product, const GemmKernel& kernel, Scratch& scratch,
              const ProgressCall& progress);

}  // namespace fourfold::inline engine::inline cpu
