// The fp32 peak of one core as a short loop of fused multiply-adds reaches it now: what "% of the
// FMA peak measured in this run" refers to.
#pragma once

#include <cstdint>

namespace fourfold::inline engine::inline cpu {

// A loop of fused multiply-adds of fixed length: what other work is compared with in turn.
class FmaBurst {
 public:
  // About so long here and now.
  explicit FmaBurst(double seconds);
  double flops() const { return flops_; }
  void run();

 private:
  std::int64_t steps_ = 1 << 10;
  double flops_ = 0.0;
};

// Flop/s in the widest vectors the processor has: the best of a hundred bursts, 0.2 s in all. Where
// there is no fused multiply-add, a multiplication and an addition stand in for it.
double fma_peak_flops_per_second();

// "512-bit FMA", "256-bit FMA" or "128-bit multiply and add".
const char* fma_peak_vectors();

}  // namespace fourfold::inline engine::inline cpu
