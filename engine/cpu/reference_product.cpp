// Operands that stay in a core's caches, and a clock; see reference_product.hpp.
#include "engine/cpu/reference_product.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace fourfold::inline engine::inline cpu {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

ReferenceProduct::ReferenceProduct()
    : product_(tensors_of({GemmForm::nn, edge, edge, edge})),
      kernel_(untuned(product_of(product_))) {
  std::size_t slot = 0;
  for (Tensor* t : {&product_.a, &product_.b, &product_.out}) {
    float* const numbers = memory_.floats(slot++, t->size());
    std::fill_n(numbers, t->size(), 0.5F);
    t->data = reinterpret_cast<std::byte*>(numbers);
  }
  kernels_.multiply(product_, kernel_, scratch_, {});
}

double ReferenceProduct::seconds() {
  std::array<double, 3> times{};
  kernels_.multiply(product_, kernel_, scratch_, {});  // brings it into the caches
  for (double& time : times) {
    const double start = processor_seconds();
    kernels_.multiply(product_, kernel_, scratch_, {});
    time = processor_seconds() - start;
  }
  std::ranges::sort(times);
  return times[1];
}

}  // namespace fourfold::inline engine::inline cpu
