// Products of bf16 matrices in the processor's own bf16 arithmetic, summed in fp32, by oneDNN's
// matmul: nothing is widened, so nothing is kept but what one tile needs.
#pragma once

#include <memory>

#include "engine/cpu/tiled_gemm.hpp"

namespace fourfold::inline engine::inline cpu {

class Bf16Gemm {
 public:
  Bf16Gemm();
  ~Bf16Gemm();
  Bf16Gemm(const Bf16Gemm&) = delete;
  Bf16Gemm& operator=(const Bf16Gemm&) = delete;

  // Both operands are bf16; the result may be either. A processor without such arithmetic gets an
  // emulation, which is slow. Uses slot 0 of the scratch. Throws std::runtime_error if oneDNN has
  // neither.
  void multiply(const TensorProduct& product, Scratch& scratch, const ProgressCall& progress);
  // Compiles what multiply() will need; the operands need no memory yet.
  void prepare(const TensorProduct& product, Scratch& scratch);

 private:
  class Tiles;
  std::unique_ptr<Tiles> tiles_;
};

}  // namespace fourfold::inline engine::inline cpu
