// From an operation to its fast kernel; see tuned_backend.hpp.
#include "engine/cpu/tuned_backend.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "engine/cpu/attention_kernels.hpp"
#include "engine/cpu/call.hpp"
#include "engine/cpu/checks.hpp"
#include "engine/cpu/key_value_cache_kernels.hpp"
#include "engine/cpu/layer_norm_kernels.hpp"
#include "engine/cpu/map_kernels.hpp"
#include "engine/cpu/numbers.hpp"
#include "engine/cpu/query_key_norm_kernels.hpp"
#include "engine/cpu/reduce_kernels.hpp"
#include "engine/cpu/row_update.hpp"
#include "engine/cpu/unfused_attention_kernels.hpp"
#include "engine/cpu/vocabulary_kernels.hpp"

namespace fourfold::inline engine::inline cpu {

TunedBackend::TunedBackend() {
  use_one_thread();
  keep_packing_buffers();
  for (const std::span<const KernelOf> room :
       {map_kernels(), reduce_kernels(), layer_norm_kernels(), vocabulary_kernels(),
        attention_kernels(), key_value_cache_kernels(), softmax_kernels(),
        query_key_norm_kernels()}) {
    of_functions_.insert(of_functions_.end(), room.begin(), room.end());
  }
}

void TunedBackend::set_choices(KernelChoices choices) {
  choices_ = std::move(choices);
  kernels_.clear();
  for (const KernelChoice& choice : choices_.choices) kernels_[choice.product] = choice.kernel;
}

GemmKernel TunedBackend::kernel_of(const Product& product) const {
  const auto found = kernels_.find(product);
  return found == kernels_.end() ? untuned(product) : found->second;
}

void TunedBackend::prepare(const std::vector<CountedProduct>& products) {
  // glibc 2.36 keeps the slack beside an aligned buffer in its cache for small chunks, seven of a
  // size: as often, a freed buffer is too short for the next request and the heap grows. Two sizes
  // come up.
  constexpr int rounds = 16;
  for (int round = 0; round < rounds; ++round) {
    for (const CountedProduct& counted : products) {
      gemm_.prepare(tensors_of(counted.product), kernel_of(counted.product), scratch_);
    }
  }
}

void TunedBackend::compute(const Device& device, const Op& op, const KernelOperands& operands,
                           const ProgressCall& progress) {
  check_operands(device, op, operands);
  const KernelCall call{device, op, operands, scratch_, progress, rotary_};
  if (op.kind == OpKind::gemm) {
    const TensorProduct product{op.form, operands.inputs[0], operands.inputs[1], operands.output};
    gemm_.multiply(product, kernel_of(product_of(product)), scratch_, progress);
    return;
  }
  if (op.kind == OpKind::add) return compute_add(call);
  if (!op.function->products.empty()) return multiply_heads(call);
  for (const KernelOf& kernel : of_functions_) {
    if (kernel.function == op.function) return kernel.compute(call);
  }
  throw std::logic_error(std::string("tuned kernels: no kernel for ") + op.verb() + " " +
                         op.function->name);
}

void TunedBackend::update(const reference::AdamWStep& step, const UpdateOperands& operands,
                          const ProgressCall& progress) {
  check_operands(operands);
  const rows::AdamWFactors factors = rows::factors(step, operands.factor);
  const Reader gradient(operands.gradient, scratch_.floats(0, stretch_numbers));
  Pace pace(progress);
  for (std::int64_t i = 0; i < operands.master.size(); i += stretch_numbers) {
    const std::int64_t n = std::min(stretch_numbers, operands.master.size() - i);
    float* const master = operands.master.fp32() + i;
    rows::adamw(factors,
                {gradient.stretch(i, n), master, operands.first_moment.fp32() + i,
                 operands.second_moment.fp32() + i},
                n);
    if (operands.weight.precision == Precision::bf16) {
      rows::narrow(master, n, operands.weight.bf16() + i);
    } else if (operands.weight.data != operands.master.data) {
      rows::copy(master, n, operands.weight.fp32() + i);
    }
    pace.did(n);
  }
}

}  // namespace fourfold::inline engine::inline cpu
