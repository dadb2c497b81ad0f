// Lookups, and softmax cross-entropy over logits whose columns are cut: row by row, in place where
// the caller says so, without another [tokens, vocabulary] buffer; see vocabulary_kernels.hpp.
#include "engine/cpu/vocabulary_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/cpu/map_operands.hpp"
#include "engine/cpu/row_sums.hpp"
#include "engine/words.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

Reader logit_rows(const KernelCall& call) {
  return {call.in(0), call.scratch.floats(first_slot, call.in(0).cols)};
}

std::int64_t word(const KernelCall& call, std::int64_t row) {
  return call.operands.words[static_cast<std::size_t>(row)];
}

void row_max(const KernelCall& call) {
  const Reader logits = logit_rows(call);
  const Part part = call.col_part(call.op.inputs[0]);
  Pace pace(call.progress);
  for (std::int64_t r = 0; r < call.in(0).rows; ++r) {
    call.out().fp32()[r] = rows::highest(logits.row(r), part.valid);
    pace.did(part.valid);
  }
}

void row_exp_and_target(const KernelCall& call) {
  const Reader logits = logit_rows(call);
  const Part part = call.col_part(call.op.inputs[0]);
  Pace pace(call.progress);
  for (std::int64_t r = 0; r < call.in(0).rows; ++r) {
    const std::int64_t target = word(call, r);
    call.out().fp32()[2 * r] = call.out().fp32()[2 * r + 1] = 0.0F;  // of one that is left out
    if (target == ignored_target) continue;
    const float* const row = logits.row(r);
    call.out().fp32()[2 * r] = rows::sum_of_exponentials(row, number(call.in(1), r), part.valid);
    call.out().fp32()[2 * r + 1] = part.holds(target) ? row[target - part.first] : 0.0F;
    pace.did(part.valid);
  }
}

void loss(const KernelCall& call) {
  for (std::int64_t r = 0; r < call.out().rows; ++r) {
    const float sum = number(call.in(1), 2 * r);
    call.out().fp32()[r] =
        sum == 0.0F ? 0.0F : number(call.in(0), r) + std::log(sum) - number(call.in(1), 2 * r + 1);
  }
}

// (softmax - [is target]) / targets of the step, and nothing of those that are left out.
void backward(const KernelCall& call) {
  const Tensor& out = call.out();
  const Reader logits = logit_rows(call);
  const Part part = call.col_part(call.op.inputs[0]);
  const auto targets = static_cast<float>(call.device.step_targets);
  const Writer writer(out, call.scratch.floats(first_slot + 3, out.cols));
  Pace pace(call.progress);
  for (std::int64_t r = 0; r < out.rows; ++r) {
    const std::int64_t target = word(call, r);
    float* const gradient = writer.row(r);
    if (target == ignored_target) {
      std::fill_n(gradient, out.cols, 0.0F);
      writer.finish_row(r);
      continue;
    }
    const float* const row = logits.row(r);
    const float sum = number(call.in(2), 2 * r);
    const float highest = number(call.in(1), r);
    rows::exponential(row, {highest, 1.0F / (sum * targets)}, part.valid, gradient);
    std::fill(gradient + part.valid, gradient + out.cols, 0.0F);
    if (part.holds(target)) gradient[target - part.first] -= 1.0F / targets;
    writer.finish_row(r);
    pace.did(out.cols);
  }
}

void lookup_forward(const KernelCall& call) {
  const Tensor& out = call.out();
  const Reader table(call.in(0), call.scratch.floats(first_slot, out.cols));
  const Part part = call.row_part(call.op.inputs[0]);
  const Writer writer(out, call.scratch.floats(first_slot + 3, out.cols));
  Pace pace(call.progress);
  for (std::int64_t r = 0; r < out.rows; ++r) {
    float* const row = writer.row(r);
    if (part.holds(word(call, r))) {
      rows::copy(table.row(word(call, r) - part.first), out.cols, row);
    } else {
      std::fill_n(row, out.cols, 0.0F);
    }
    writer.finish_row(r);
    pace.did(out.cols);
  }
}

// Word by word, so that a bf16 result is rounded once: rows of one word are added in their order.
void lookup_backward(const KernelCall& call) {
  const Tensor& gradient = call.in(0);
  const Tensor& out = call.out();
  const Part part = call.row_part(call.op.outputs[0]);
  std::vector<std::int64_t> order;
  for (std::int64_t r = 0; r < gradient.rows; ++r) {
    if (part.holds(word(call, r))) order.push_back(r);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return word(call, a) < word(call, b); });
  const Reader rows_of(gradient, call.scratch.floats(first_slot, out.cols));
  const Writer writer(out, call.scratch.floats(first_slot + 3, out.cols));
  Pace pace(call.progress);
  auto next = order.begin();
  for (std::int64_t w = 0; w < out.rows; ++w) {
    float* const sums = writer.row(w);
    std::fill_n(sums, out.cols, 0.0F);
    for (; next != order.end() && word(call, *next) == part.first + w; ++next) {
      rows::accumulate(rows_of.row(*next), out.cols, sums);
    }
    writer.finish_row(w);
    pace.did(out.cols);
  }
}

}  // namespace

std::span<const KernelOf> vocabulary_kernels() {
  static constexpr KernelOf kernels[]{
      {&functions::row_max, row_max},       {&functions::row_exp_and_target, row_exp_and_target},
      {&functions::softmax_loss, loss},     {&functions::softmax_backward, backward},
      {&functions::lookup, lookup_forward}, {&functions::lookup_backward, lookup_backward},
  };
  return kernels;
}

}  // namespace fourfold::inline engine::inline cpu
