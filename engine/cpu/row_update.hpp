// The loop over a stretch of an AdamW update.
#pragma once

#include <cstdint>

#include "engine/reference/adamw_step.hpp"

namespace fourfold::inline engine::inline cpu::rows {

// What the elements of a step have in common, in fp32.
struct AdamWFactors {
  float gradient = 1.0F;  // of clipping
  float beta1 = 0.0F, beta2 = 0.0F;
  float correction1 = 1.0F, correction2 = 1.0F;  // 1 / (1 - beta^step)
  float rate = 0.0F, epsilon = 0.0F, decay = 0.0F;
};
AdamWFactors factors(const reference::AdamWStep& step, float clipping);

struct AdamWStretch {
  const float* gradient;
  float *master, *first_moment, *second_moment;
};
void adamw(const AdamWFactors& factors, const AdamWStretch& stretch, std::int64_t n);

}  // namespace fourfold::inline engine::inline cpu::rows
