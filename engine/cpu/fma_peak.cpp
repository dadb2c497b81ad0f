// Twelve independent chains, which cover four cycles of latency at two results a cycle; see
// fma_peak.hpp.
#include "engine/cpu/fma_peak.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "engine/cpu/vectors.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

using Wide = float __attribute__((vector_size(64)));
using Middle = float __attribute__((vector_size(32)));
using Narrow = float __attribute__((vector_size(16)));

constexpr int chain_count = 12;

// Flops of `steps` steps. `factor` and `summand` come from outside, so that nothing can be computed
// before the program runs, and the chains' sum goes outside, so that nothing can be left out.
template <typename Vector>
FOURFOLD_INLINE double run_chains(std::int64_t steps, float factor, float summand, float& result) {
  const Vector by = Vector{} + factor;
  const Vector plus = Vector{} + summand;
  Vector chains[chain_count];
  for (int c = 0; c < chain_count; ++c) chains[c] = Vector{} + static_cast<float>(c);
  for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < chain_count; ++c) chains[c] = chains[c] * by + plus;
  }
  for (int c = 1; c < chain_count; ++c) chains[0] += chains[c];
  result = chains[0][0];
  return static_cast<double>(steps) * chain_count * 2 * sizeof(Vector) / sizeof(float);
}

using Chains = double (*)(std::int64_t, float, float, float&);

#if defined(__x86_64__)
__attribute__((target("avx512f"))) double wide(std::int64_t n, float f, float s, float& r) {
  return run_chains<Wide>(n, f, s, r);
}
__attribute__((target("avx2,fma"))) double middle(std::int64_t n, float f, float s, float& r) {
  return run_chains<Middle>(n, f, s, r);
}
#endif
double narrow(std::int64_t n, float f, float s, float& r) {
  return run_chains<Narrow>(n, f, s, r);
}

struct Loop {
  Chains chains;
  const char* vectors;
};

Loop widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {wide, "512-bit FMA"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {middle, "256-bit FMA"};
  }
#endif
  return {narrow, "128-bit multiply and add"};
}

double seconds_of_run(FmaBurst& burst) {
  const auto start = std::chrono::steady_clock::now();
  burst.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

FmaBurst::FmaBurst(double seconds) {
  // The shortest of a few: a run that others interrupt looks long.
  const auto shortest = [this] {
    double least = seconds_of_run(*this);
    for (int i = 0; i < 4; ++i) least = std::min(least, seconds_of_run(*this));
    return least;
  };
  while (shortest() < seconds / 2) steps_ *= 2;
}

void FmaBurst::run() {
  const volatile float factor = 0.999F;
  const volatile float summand = 1e-3F;
  float result = 0.0F;
  flops_ = widest().chains(steps_, factor, summand, result);
  const volatile float kept = result;
  static_cast<void>(kept);
}

double fma_peak_flops_per_second() {
  constexpr int bursts = 100;  // 0.2 s: longer than a neighbour keeps a core
  FmaBurst burst(2e-3);
  double best = 0.0;
  for (int i = 0; i < bursts; ++i) best = std::max(best, burst.flops() / seconds_of_run(burst));
  return best;
}

const char* fma_peak_vectors() {
  return widest().vectors;
}

}  // namespace fourfold::inline engine::inline cpu
