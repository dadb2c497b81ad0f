// Picks among the kernels of products; see gemm_kernels.hpp.
#include "engine/cpu/gemm_kernels.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "engine/cpu/tune.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

bool can_be_in_bf16(const Product& p) {
  return p.a == Precision::bf16 && p.b == Precision::bf16 && computes_in_bf16();
}

// Whether it pays differs between processors: AMD's Zen 5 computes twice as fast in bf16 as in
// fp32, Intel's cores without AMX half as fast.
bool bf16_pays() {
  constexpr std::int64_t n = 256;
  static const bool faster = [] {
    const Product small{GemmForm::nn, n, n, n, Precision::bf16, Precision::bf16, Precision::bf16};
    const std::vector<KernelTiming> timings =
        timed(small, {{Library::onednn, GemmForm::nn, Precision::fp32},
                      {Library::onednn, GemmForm::nn, Precision::bf16}});
    return timings[1].seconds < timings[0].seconds;
  }();
  return faster;
}

// A call of about a tile's size, on zeros.
void bring_up(const Product& p, const GemmKernel& kernel) {
  const std::int64_t m = std::min<std::int64_t>(p.m, 512);
  const std::int64_t n = std::min<std::int64_t>(p.n, 512);
  const std::int64_t k = std::min<std::int64_t>(p.k, 1024);
  // Malloc takes so much from the system and gives it back whole (mallopt(3), M_MMAP_THRESHOLD), so
  // that no later buffer hides in it; only what is written to becomes resident.
  constexpr std::size_t given_back = 64 << 20;
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  const std::unique_ptr<float, Free> memory(
      static_cast<float*>(std::aligned_alloc(64, given_back)));
  if (memory == nullptr) throw std::bad_alloc();
  std::fill_n(memory.get(), (m + n) * k + m * n, 0.0F);
  float* const b = memory.get() + m * k;
  const Sgemm product{kernel.form,
                      m,
                      n,
                      k,
                      memory.get(),
                      kernel.form == GemmForm::tn ? m : k,
                      b,
                      kernel.form == GemmForm::nt ? k : n,
                      b + n * k,
                      n,
                      0.0F};
  sgemm(kernel.library, product);
}

}  // namespace

void GemmKernels::multiply(const TensorProduct& product, const GemmKernel& kernel, Scratch& scratch,
                           const ProgressCall& progress) {
  if (kernel.arithmetic == Precision::bf16) {
    bf16_.multiply(product, scratch, progress);
  } else {
    fourfold::multiply(product, kernel, scratch, progress);
  }
}

void GemmKernels::prepare(const TensorProduct& product, const GemmKernel& kernel,
                          Scratch& scratch) {
  if (kernel.arithmetic == Precision::bf16) {
    bf16_.prepare(product, scratch);
  } else {
    bring_up(product_of(product), kernel);
    take_scratch(product, kernel, scratch);
  }
}

std::vector<GemmKernel> candidates(const Product& product) {
  std::vector<GemmKernel> kernels;
  for (Library library : {Library::openblas, Library::onednn}) {
    for (GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn}) {
      kernels.push_back({library, form, Precision::fp32});
    }
  }
  if (can_be_in_bf16(product)) {
    kernels.push_back({Library::onednn, product.form, Precision::bf16});
  }
  return kernels;
}

GemmKernel untuned(const Product& product) {
  const bool native = can_be_in_bf16(product) && bf16_pays();
  return {Library::onednn, product.form, native ? Precision::bf16 : Precision::fp32};
}

}  // namespace fourfold::inline engine::inline cpu
