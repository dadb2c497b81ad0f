// Products of bf16 matrices in the processor's own bf16 arithmetic, summed in fp32, by oneDNN's
// matmul: nothing is widened, so nothing is kept but what one tile needs.
#pragma once

#include <memory>

#include "engine/cpu/tiled_gemm.hpp"

namespace fourfold::inline engine::inline cpu {

// Whether oneDNN computes in bf16 on this processor at all, itself or emulated; asked once a
// process.
bool computes_in_bf16();

class Bf16Gemm {
 public:
  Bf16Gemm();
  ~Bf16Gemm();
  Bf16Gemm(const Bf16Gemm&) = delete;
  Bf16Gemm& operator=(const Bf16Gemm&) = delete;

  // Both operands are bf16; the result may be either. Uses slot 0 of the scratch. Throws
  // std::runtime_error where computes_in_bf16() is false.
  void multiply(const TensorProduct& product, Scratch& scratch, const ProgressCall& progress);
  // Compiles what multiply() will need; the operands need no memory yet.
  void prepare(const TensorProduct& product, Scratch& scratch);

 private:
  class Tiles;
  std::unique_ptr<Tiles> tiles_;
};

}  // namespace fourfold::inline engine::inline cpu
