// Which library and form each matrix product of a program is computed in, and how fast each
// candidate was: a value that is broadcast, printed and saved with checkpoints.
#pragma once

#include <string>
#include <vector>

#include "engine/cpu/tiled_gemm.hpp"

namespace fourfold::inline engine::inline cpu {

// A matrix product up to the numbers in it: op(a) op(b) is m x n, k is contracted.
struct Product {
  GemmForm form = GemmForm::nn;
  std::int64_t m = 0, n = 0, k = 0;
  Precision a = Precision::fp32, b = Precision::fp32, out = Precision::fp32;

  auto operator<=>(const Product&) const = default;
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  std::string str() const;  // "NT 1024 x 384 x 1152 bf16 bf16 -> fp32"
};
Product product_of(const TensorProduct& product);
// The other way, without memory.
TensorProduct tensors_of(const Product& product);

// "oneDNN NT", or "oneDNN bf16" where it computes in bf16.
std::string text_of(const GemmKernel& kernel);

struct CountedProduct {
  Product product;
  std::int64_t count = 0;  // in one step
};
// The distinct products of a step on this grid in the order they first come; `tokens` are those of
// a micro-batch over all devices. Precisions are the program's.
std::vector<CountedProduct> products(const Program& program, const ProcessGrid& grid,
                                     std::int64_t tokens);

struct KernelTiming {
  GemmKernel kernel;
  double seconds = 0.0;
};

struct KernelChoice {
  Product product;
  std::int64_t count = 0;
  GemmKernel kernel;                  // the fastest
  std::vector<KernelTiming> timings;  // of all candidates
};

struct KernelChoices {
  std::vector<KernelChoice> choices;
};

// A line per product: how often, each candidate's share of `peak_flops_per_second`, what was
// chosen.
std::string table(const KernelChoices& choices, double peak_flops_per_second);

}  // namespace fourfold::inline engine::inline cpu
