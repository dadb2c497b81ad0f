// Times candidates; see tune.hpp.
#include "engine/cpu/tune.hpp"

#include <algorithm>
#include <ctime>
#include <limits>

namespace fourfold::inline engine::inline cpu {

namespace {

// CPU time of this thread, in which products are computed: what else runs on the machine meanwhile
// must not choose.
double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Operands of one product. Their numbers matter to no library, but memory must have been written
// to.
class Operands {
 public:
  explicit Operands(const Product& p) : product_(tensors_of(p)) {
    std::size_t slot = 0;
    for (Tensor* t : {&product_.a, &product_.b, &product_.out}) {
      float* const memory = memory_.floats(slot++, t->size());
      std::fill_n(memory, t->size(), 1.0F);
      t->data = reinterpret_cast<std::byte*>(memory);
    }
  }
  const TensorProduct& product() const { return product_; }

 private:
  TensorProduct product_;
  Scratch memory_;
};

// The shortest of a few runs after one that warms up (oneDNN compiles its kernels then); a
// candidate that is far behind after the first gets no more.
class Timer {
 public:
  explicit Timer(const Product& product) : operands_(product) {}

  double seconds(const GemmKernel& kernel, double shortest_so_far) {
    constexpr int runs = 3;
    double shortest = 0.0;
    multiply(kernel);
    for (int run = 0; run < runs && shortest <= 1.3 * shortest_so_far; ++run) {
      const double start = seconds_now();
      multiply(kernel);
      const double seconds = seconds_now() - start;
      if (run == 0 || seconds < shortest) shortest = seconds;
    }
    return shortest;
  }

 private:
  void multiply(const GemmKernel& kernel) {
    kernels_.multiply(operands_.product(), kernel, scratch_, {});
  }

  Operands operands_;
  Scratch scratch_;
  GemmKernels kernels_;
};

}  // namespace

std::vector<KernelTiming> timed(const Product& product, const std::vector<GemmKernel>& kernels) {
  Timer timer(product);
  std::vector<KernelTiming> timings;
  double shortest = std::numeric_limits<double>::infinity();
  for (const GemmKernel& kernel : kernels) {
    timings.push_back({kernel, timer.seconds(kernel, shortest)});
    shortest = std::min(shortest, timings.back().seconds);
  }
  return timings;
}

KernelChoices tuned(const std::vector<CountedProduct>& products) {
  KernelChoices result;
  for (const CountedProduct& counted : products) {
    KernelChoice choice{counted.product, counted.count, {}, {}};
    choice.timings = timed(counted.product, candidates(counted.product));
    choice.kernel = std::min_element(choice.timings.begin(), choice.timings.end(),
                                     [](const KernelTiming& a, const KernelTiming& b) {
                                       return a.seconds < b.seconds;
                                     })
                        ->kernel;
    result.choices.push_back(std::move(choice));
  }
  return result;
}

}  // namespace fourfold::inline engine::inline cpu
