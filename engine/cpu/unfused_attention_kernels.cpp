// Products of heads by oneDNN, block after block, and the softmax row by row; see
// unfused_attention_kernels.hpp.
#include "engine/cpu/unfused_attention_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "engine/cpu/numbers.hpp"
#include "engine/cpu/placing.hpp"
#include "engine/cpu/row_maps.hpp"
#include "engine/cpu/row_sums.hpp"
#include "engine/cpu/sgemm.hpp"
#include "engine/reference/unfused_attention.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

using reference::AttentionSizes;

enum Slot : std::size_t { left_slot, right_slot, result_slot };
constexpr std::size_t first_row_slot = 3;

AttentionSizes sizes_of(const KernelCall& call) {
  const Attributes& of = call.op.attributes;
  return {of.sequence, call.device.head_columns, of.group, of.window};
}

// One head's part of a tensor: where it lies in fp32, or in scratch.
struct Part {
  float* data = nullptr;
  std::int64_t stride = 0, cols = 0;
};

class HeadProducts {
 public:
  explicit HeadProducts(const KernelCall& call) : call_(call), sizes_(sizes_of(call)) {}

  void multiply(const HeadProduct& product) {
    const Tensor& out = call_.out();
    const std::int64_t heads = reference::heads_in(out.cols, product.result, sizes_);
    for (first_row_ = 0; first_row_ < out.rows; first_row_ += sizes_.sequence) {
      for (head_ = 0; head_ < heads; ++head_) multiply_one(product);
    }
  }

 private:
  void multiply_one(const HeadProduct& product) {
    const Part a = read(call_.in(product.a.number), product.a.part, left_slot);
    const Part b = read(call_.in(product.b.number), product.b.part, right_slot);
    const Part c = place_of(call_.out(), product.result, result_slot);
    const std::int64_t inner = product.form == GemmForm::tn ? sizes_.sequence : a.cols;
    const float beta = reference::adds(product.result, head_, sizes_) ? 1.0F : 0.0F;
    sgemm(Library::onednn, {product.form, sizes_.sequence, c.cols, inner, a.data, a.stride, b.data,
                            b.stride, c.data, c.stride, beta});
    write(call_.out(), product.result, c);
    if (call_.progress) call_.progress();
  }

  std::int64_t first_column(HeadPart part) const {
    return reference::head_columns(part, head_, sizes_).first;
  }
  // Room for it in scratch, if it is not fp32.
  Part place_of(const Tensor& t, HeadPart part, Slot slot) const {
    const auto [first, cols] = reference::head_columns(part, head_, sizes_);
    if (t.precision == Precision::fp32) {
      return {t.fp32() + first_row_ * t.cols + first, t.cols, cols};
    }
    return {call_.scratch.floats(slot, sizes_.sequence * cols), cols, cols};
  }
  Part read(const Tensor& t, HeadPart part, Slot slot) const {
    const Part placed = place_of(t, part, slot);
    if (t.precision == Precision::fp32) return placed;
    place(t, {first_row_, sizes_.sequence, first_column(part), placed.cols}, placed.data);
    return placed;
  }
  void write(const Tensor& t, HeadPart part, const Part& from) const {
    if (t.precision == Precision::fp32) return;
    for (std::int64_t r = 0; r < sizes_.sequence; ++r) {
      rows::narrow(from.data + r * from.stride, from.cols,
                   t.bf16() + (first_row_ + r) * t.cols + first_column(part));
    }
  }

  const KernelCall& call_;
  AttentionSizes sizes_;
  std::int64_t first_row_ = 0, head_ = 0;  // of the block that is being multiplied
};

// A row of the local block has s numbers of each head.
template <typename Body>
void for_each_row(const KernelCall& call, const Body& body) {
  const Tensor& out = call.out();
  const float scale = 1.0F / std::sqrt(static_cast<float>(call.device.head_columns));
  const Writer writer(out, call.scratch.floats(first_row_slot, out.cols));
  Pace pace(call.progress);
  for (std::int64_t r = 0; r < out.rows; ++r) {
    body(r,
         rows::CausalRow{r % call.op.attributes.sequence + 1, call.op.attributes.sequence, scale},
         writer.row(r));
    writer.finish_row(r);
    pace.did(out.cols);
  }
}

void causal_softmax(const KernelCall& call) {
  const std::int64_t cols = call.out().cols;
  const Reader scores(call.in(0), call.scratch.floats(first_row_slot + 1, cols));
  const AttentionSizes sizes = sizes_of(call);
  for_each_row(call, [&](std::int64_t r, const rows::CausalRow& row, float* out) {
    const std::int64_t hidden = sizes.first_seen(row.visible - 1);
    rows::copy(scores.row(r), cols, out);
    for (std::int64_t c = 0; c < cols; c += row.n) {
      std::fill_n(out + c, hidden, 0.0F);
      rows::causal_softmax(out + c + hidden, {row.visible - hidden, row.n - hidden, row.scale});
    }
  });
}

// What the mask hides has no gradient. The result is formed aside, as it may be the memory of
// either operand.
void causal_softmax_backward(const KernelCall& call) {
  const std::int64_t cols = call.out().cols;
  const Reader gradient(call.in(0), call.scratch.floats(first_row_slot + 1, cols));
  const Reader weights(call.in(1), call.scratch.floats(first_row_slot + 2, cols));
  float* const aside = call.scratch.floats(first_row_slot + 3, cols);
  for_each_row(call, [&](std::int64_t r, const rows::CausalRow& row, float* out) {
    const float* const w = weights.row(r);
    rows::copy(gradient.row(r), cols, aside);
    for (std::int64_t c = 0; c < cols; c += row.n) {
      rows::score_gradient(w + c, rows::dot(w + c, aside + c, row.visible),
                           {row.visible, row.visible, row.scale}, aside + c);
      std::fill(aside + c + row.visible, aside + c + row.n, 0.0F);
    }
    rows::copy(aside, cols, out);
  });
}

}  // namespace

std::span<const KernelOf> softmax_kernels() {
  static constexpr KernelOf kernels[]{
      {&functions::causal_softmax, causal_softmax},
      {&functions::causal_softmax_backward, causal_softmax_backward},
  };
  return kernels;
}

void multiply_heads(const KernelCall& call) {
  HeadProducts products(call);
  for (const HeadProduct& product : call.op.function->products) products.multiply(product);
}

}  // namespace fourfold::inline engine::inline cpu
