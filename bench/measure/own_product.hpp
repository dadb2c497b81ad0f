// A matrix product of fixed code: what products of libraries are measured beside. It uses a core as
// they do, ports and caches, and so loses as much as they to whoever else uses it; a loop of fused
// multiply-adds does not.
#pragma once

#include <cstdint>
#include <vector>

namespace fourfold::inline bench::inline measure {

class OwnProduct {
 public:
  OwnProduct();
  static double flops() { return 2.0 * rows * cols * depth; }
  void run();

 private:
  // Operands of 0.6 MB and a result of 0.4 MB: the second cache holds them.
  static constexpr std::int64_t rows = 240, cols = 384, depth = 256;

  std::vector<float> a_, b_, out_;
};

}  // namespace fourfold::inline bench::inline measure
