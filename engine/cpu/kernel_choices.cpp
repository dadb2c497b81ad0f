// Lists, looks up and prints choices; see kernel_choices.hpp.
#include "engine/cpu/kernel_choices.hpp"

#include <algorithm>
#include <cstdio>

namespace fourfold::inline engine::inline cpu {

namespace {

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

}  // namespace

std::string text_of(const GemmKernel& kernel) {
  const char* how = kernel.arithmetic == Precision::bf16 ? "bf16" : name(kernel.form);
  return std::string(name(kernel.library)) + " " + how;
}

std::string Product::str() const {
  return std::string(name(form)) + " " + std::to_string(m) + " x " + std::to_string(n) + " x " +
         std::to_string(k) + " " + name(a) + " " + name(b) + " -> " + name(out);
}

Product product_of(const TensorProduct& p) {
  return {
      p.form,        p.out.rows,    p.out.cols,     p.form == GemmForm::tn ? p.a.rows : p.a.cols,
      p.a.precision, p.b.precision, p.out.precision};
}

TensorProduct tensors_of(const Product& p) {
  const bool tn = p.form == GemmForm::tn, nt = p.form == GemmForm::nt;
  return {p.form,
          {nullptr, tn ? p.k : p.m, tn ? p.m : p.k, p.a},
          {nullptr, nt ? p.n : p.k, nt ? p.k : p.n, p.b},
          {nullptr, p.m, p.n, p.out}};
}

std::vector<CountedProduct> products(const Program& program, const ProcessGrid& grid,
                                     std::int64_t tokens) {
  std::vector<CountedProduct> result;
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::gemm) continue;
    const auto tensor = [&](Id id) {
      const Value& value = program[id];
      return Tensor{nullptr, value.shape.local_rows(grid, {tokens}),
                    value.shape.local_cols(grid, {tokens}), value.precision};
    };
    const Product product =
        product_of({op.form, tensor(op.inputs[0]), tensor(op.inputs[1]), tensor(op.outputs[0])});
    const auto found = std::find_if(result.begin(), result.end(), [&](const CountedProduct& known) {
      return known.product == product;
    });
    if (found == result.end()) {
      result.push_back({product, 1});
    } else {
      ++found->count;
    }
  }
  return result;
}

std::string table(const KernelChoices& choices, double peak_flops_per_second) {
  if (choices.choices.empty()) return "no matrix product has been timed\n";
  constexpr std::size_t product_width = 48;
  std::string result = padded("product (m x n x k)", product_width) + " count";
  const KernelChoice& longest = *std::max_element(
      choices.choices.begin(), choices.choices.end(),
      [](const auto& a, const auto& b) { return a.timings.size() < b.timings.size(); });
  for (const KernelTiming& timing : longest.timings) {
    result += "  " + padded(text_of(timing.kernel), 11);
  }
  result += "  fastest\n";
  for (const KernelChoice& choice : choices.choices) {
    char number[32];
    std::snprintf(number, sizeof(number), " %5lld", static_cast<long long>(choice.count));
    result += padded(choice.product.str(), product_width) + number;
    for (const KernelTiming& timing : choice.timings) {
      const double share = choice.product.flops() / timing.seconds / peak_flops_per_second;
      std::snprintf(number, sizeof(number), "  %9.0f %%", 100 * share);
      result += number;
    }
    const std::size_t missing = longest.timings.size() - choice.timings.size();
    result += std::string(13 * missing, ' ') + "  " + text_of(choice.kernel) + "\n";
  }
  return result;
}

}  // namespace fourfold::inline engine::inline cpu
