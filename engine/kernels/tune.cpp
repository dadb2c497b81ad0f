// Times candidates; see tune.hpp.
#include "engine/kernels/tune.hpp"

#include <algorithm>
#include <ctime>
#include <limits>

namespace fourfold {

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
  explicit Operands(const Product& p) : form_(p.form) {
    const bool a_transposed = p.form == GemmForm::tn;
    const bool b_transposed = p.form == GemmForm::nt;
    a_ = tensor(0, a_transposed ? p.k : p.m, a_transposed ? p.m : p.k, p.a);
    b_ = tensor(1, b_transposed ? p.n : p.k, b_transposed ? p.k : p.n, p.b);
    out_ = tensor(2, p.m, p.n, p.out);
  }
  TensorProduct product() const { return {form_, a_, b_, out_}; }

 private:
  Tensor tensor(std::size_t slot, std::int64_t rows, std::int64_t cols, Precision precision) {
    float* const memory = memory_.floats(slot, rows * cols);
    std::fill_n(memory, rows * cols, 1.0F);
    return {reinterpret_cast<std::byte*>(memory), rows, cols, precision};
  }

  GemmForm form_;
  Scratch memory_;
  Tensor a_, b_, out_;
};

// The shortest of a few runs after one that warms up (oneDNN compiles its kernels then); a
// candidate that is far behind after the first gets no more.
double shortest_seconds(const Operands& operands, const GemmKernel& kernel, Scratch& scratch,
                        double shortest_so_far) {
  constexpr int runs = 3;
  double shortest = 0.0;
  multiply(operands.product(), kernel, scratch, {});
  for (int run = 0; run < runs && shortest <= 1.3 * shortest_so_far; ++run) {
    const double start = seconds_now();
    multiply(operands.product(), kernel, scratch, {});
    const double seconds = seconds_now() - start;
    if (run == 0 || seconds < shortest) shortest = seconds;
  }
  return shortest;
}

}  // namespace

KernelChoices tuned(const std::vector<CountedProduct>& products) {
  KernelChoices result;
  Scratch scratch;
  for (const CountedProduct& counted : products) {
    const Operands operands(counted.product);
    KernelChoice choice{counted.product, counted.count, {}, {}};
    double shortest = std::numeric_limits<double>::infinity();
    for (Library library : {Library::openblas, Library::onednn}) {
      for (GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn}) {
        const GemmKernel kernel{library, form};
        const double seconds = shortest_seconds(operands, kernel, scratch, shortest);
        choice.timings.push_back({kernel, seconds});
        if (seconds < shortest) choice.kernel = kernel;
        shortest = std::min(shortest, seconds);
      }
    }
    result.choices.push_back(std::move(choice));
  }
  return result;
}

}  // namespace fourfold
