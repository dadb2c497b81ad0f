// Compute: products, kernels bound by memory and attention, on all ranks at the same time.
#pragma once

#include "bench/kinds/question.hpp"

namespace fourfold::inline bench::inline kinds {

BenchTable bench_gemm(const BenchQuestion& question);
BenchTable bench_maps(const BenchQuestion& question);
BenchTable bench_attention(const BenchQuestion& question);

}  // namespace fourfold::inline bench::inline kinds
