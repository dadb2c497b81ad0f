// Sums and maxima of one row of n fp32 numbers, and sums of many rows. Their order is fixed by n:
// the same on every run, though not that of a plain loop.
#pragma once

#include <cstdint>

#include "engine/cpu/row_maps.hpp"

namespace fourfold::inline engine::inline cpu::rows {

float sum(const float* x, std::int64_t n);
// Of squares of the distance to `centre`.
float squares(const float* x, float centre, std::int64_t n);
// Minus infinity where there is nothing.
float highest(const float* x, std::int64_t n);
// Of e^(x - highest).
float sum_of_exponentials(const float* x, float highest, std::int64_t n);
float dot(const float* a, const float* b, std::int64_t n);

struct LayerNormSums {
  float plain = 0.0F, weighted = 0.0F;
};
// Uses gradient, input, parameters and normalisation of the row.
LayerNormSums layer_norm_sums(const LayerNormBackwardRow& row, std::int64_t n);

// The weighted sum alone, of an RMS norm.
float rms_norm_sum(const LayerNormBackwardRow& row, std::int64_t n);

// sums += x, column by column.
void accumulate(const float* x, std::int64_t n, float* sums);
// The same for four rows that lie `stride` apart: sums are read and written a quarter as often.
void accumulate_four(const float* x, std::int64_t stride, std::int64_t n, float* sums);
// scales += gradient * normalised input, offsets += gradient; those of an RMS norm are null.
struct ParameterSums {
  float *scales, *offsets;
};
void accumulate_parameters(const LayerNormBackwardRow& row, std::int64_t n,
                           const ParameterSums& sums);

}  // namespace fourfold::inline engine::inline cpu::rows
