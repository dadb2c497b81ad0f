// One matrix product with operands of its own, to be timed and checked.
#pragma once

#include <optional>

#include "engine/cpu/gemm_kernels.hpp"
#include "engine/cpu/scratch.hpp"

namespace fourfold::inline bench::inline measure {

class ProductRun {
 public:
  // Random operands from -1 to 1, the same in every run.
  ProductRun(const Product& product, const GemmKernel& kernel);

  const Product& product() const { return product_; }
  const GemmKernel& kernel() const { return kernel_; }
  double flops() const { return product_.flops(); }

  void run();
  // CPU seconds of one product, the mean of `times`.
  double seconds(std::int64_t times);
  // As many as last so long, at least one.
  std::int64_t times_in(double seconds_in_all);
  // From now on a share of each product is computed once more (slow_down.hpp).
  void repeat(double share);

  // The largest error of some sixty elements of the result, as a share of what rounding explains:
  // (k + 16) ulp of the sum of absolute terms, in the coarsest precision involved. Up to 1 is
  // right.
  double error();

 private:
  Product product_;
  GemmKernel kernel_;
  TensorProduct tensors_;
  std::optional<TensorProduct> repeated_;
  Scratch memory_, scratch_;
  GemmKernels kernels_;
};

}  // namespace fourfold::inline bench::inline measure
