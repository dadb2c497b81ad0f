// Random operands, and a few elements of the result in double; see product.hpp.
#include "bench/measure/product.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "bench/measure/turns.hpp"
#include "engine/bf16.hpp"
#include "engine/cpu/numbers.hpp"

namespace fourfold::inline bench::inline measure {

namespace {

void fill(Tensor& tensor, float* memory, std::minstd_rand& random) {
  tensor.data = reinterpret_cast<std::byte*>(memory);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const float number = static_cast<float>(random() % 2001) * 1e-3F - 1.0F;
    if (tensor.precision == Precision::bf16) {
      tensor.bf16()[i] = bf16_bits(number);
    } else {
      tensor.fp32()[i] = number;
    }
  }
}

// Half a unit in the last place of 1.
double ulp(Precision precision) {
  return precision == Precision::bf16 ? 0x1p-8 : 0x1p-24;
}

}  // namespace

ProductRun::ProductRun(const Product& product, const GemmKernel& kernel)
    : product_(product), kernel_(kernel), tensors_(tensors_of(product)) {
  std::minstd_rand random(1);
  std::size_t slot = 0;
  for (Tensor* tensor : {&tensors_.a, &tensors_.b, &tensors_.out}) {
    fill(*tensor, memory_.floats(slot++, tensor->size()), random);
  }
}

void ProductRun::run() {
  kernels_.multiply(tensors_, kernel_, scratch_, {});
  if (repeated_) kernels_.multiply(*repeated_, kernel_, scratch_, {});
}

double ProductRun::seconds(std::int64_t times) {
  const double all = cpu_seconds([&] {
    for (std::int64_t i = 0; i < times; ++i) run();
  });
  return all / static_cast<double>(times);
}

std::int64_t ProductRun::times_in(double seconds_in_all) {
  run();  // libraries compile their code when they first compute
  const double one = std::max(1e-9, std::min(seconds(1), seconds(1)));
  return std::max<std::int64_t>(1, std::llround(seconds_in_all / one));
}

// Rows of the result, or where a lies transposed, part of the sum: what lies together in memory.
void ProductRun::repeat(double share) {
  repeated_.reset();
  if (share <= 0.0) return;
  repeated_ = tensors_;
  const auto part = [&](std::int64_t& rows) {
    rows = std::max<std::int64_t>(1, std::llround(share * static_cast<double>(rows)));
  };
  part(repeated_->a.rows);
  part(product_.form == GemmForm::tn ? repeated_->b.rows : repeated_->out.rows);
}

double ProductRun::error() {
  kernels_.multiply(tensors_, kernel_, scratch_, {});
  const auto& [form, a, b, out] = tensors_;
  const bool exact = kernel_.arithmetic == Precision::fp32;
  double worst = 0.0;
  std::minstd_rand random(2);
  for (int i = 0; i < 64; ++i) {
    const auto r = static_cast<std::int64_t>(random()) % product_.m;
    const auto c = static_cast<std::int64_t>(random()) % product_.n;
    double sum = 0.0, absolute = 0.0;
    for (std::int64_t k = 0; k < product_.k; ++k) {
      const double left = number(a, form == GemmForm::tn ? k * a.cols + r : r * a.cols + k);
      const double right = number(b, form == GemmForm::nt ? c * b.cols + k : k * b.cols + c);
      sum += left * right;
      absolute += std::abs(left * right);
    }
    // Sums are formed in fp32 whatever the operands are; a result in bf16 is rounded once more.
    const double rounding = static_cast<double>(product_.k + 16) * ulp(Precision::fp32) * absolute +
                            ulp(product_.out) * std::abs(sum) +
                            (exact ? 0.0 : ulp(Precision::bf16) * 1e-2 * absolute);
    worst = std::max(worst, std::abs(static_cast<double>(number(out, r * out.cols + c)) - sum) /
                                std::max(rounding, 1e-30));
  }
  return worst;
}

}  // namespace fourfold::inline bench::inline measure
