// Causal attention, a block of queries at a time: products with the keys and values up to the
// block's last query, so that no more than a block's triangle of what the mask removes is computed,
// and the scores of one block are all that is held. Backward repeats the scores.
#include "engine/cpu/attention_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "engine/cpu/placing.hpp"
#include "engine/cpu/row_maps.hpp"
#include "engine/cpu/row_sums.hpp"
#include "engine/cpu/sgemm.hpp"
#include "engine/reference/attention.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

constexpr std::int64_t block_queries = 64;

enum Slot : std::size_t {
  query_slot,
  key_slot,
  value_slot,
  output_slot,
  gradient_slot,
  score_slot,
  score_gradient_slot,
  result_slot
};

reference::AttentionSizes sizes_of(const KernelCall& call) {
  const Attributes& of = call.op.attributes;
  return {of.sequence, call.device.head_columns, of.group, of.window};
}

// A head's T x d block: where it lies in fp32, or a widened copy.
struct HeadBlock {
  float* data = nullptr;
  std::int64_t stride = 0;
  float* row(std::int64_t t) const { return data + t * stride; }
};

// One head of one sequence.
class Head {
 public:
  Head(const KernelCall& call, std::int64_t first_row, std::int64_t index)
      : call_(call),
        first_row_(first_row),
        index_(index),
        length_(call.op.attributes.sequence),
        columns_(call.device.head_columns),
        sizes_(sizes_of(call)) {
    scale_ = 1.0F / std::sqrt(static_cast<float>(columns_));
    scores_ = call.scratch.floats(score_slot, block_queries * length_);
  }

  void forward() {
    const Tensor& qkv = call_.in(0);
    const HeadBlock q = read(qkv, qkv_column(0), query_slot);
    const HeadBlock k = read(qkv, qkv_column(1), key_slot);
    const HeadBlock v = read(qkv, qkv_column(2), value_slot);
    const HeadBlock out = room(call_.out(), index_ * columns_, result_slot, 0);
    for (std::int64_t first = 0; first < length_; first += block_queries) {
      const std::int64_t rows = std::min(block_queries, length_ - first);
      const std::int64_t begin = sizes_.first_seen(first), seen = first + rows - begin;
      weights(q, k, first, rows);
      product({GemmForm::nn, rows, columns_, seen, scores_, seen, v.row(begin), v.stride,
               out.row(first), out.stride, 0.0F});
    }
    write(call_.out(), index_ * columns_, out);
  }

  // From the last block on: without a window it sees all keys, so that its products start the sums
  // of dk and dv.
  void backward() {
    const Tensor& qkv = call_.in(1);
    const HeadBlock q = read(qkv, qkv_column(0), query_slot);
    const HeadBlock k = read(qkv, qkv_column(1), key_slot);
    const HeadBlock v = read(qkv, qkv_column(2), value_slot);
    const HeadBlock gradient = read(call_.in(0), index_ * columns_, gradient_slot);
    const HeadBlock output = read(call_.in(2), index_ * columns_, output_slot);
    const HeadBlock dq = room(call_.out(), qkv_column(0), result_slot, 0);
    const HeadBlock dk = room(call_.out(), qkv_column(1), result_slot, 1);
    const HeadBlock dv = room(call_.out(), qkv_column(2), result_slot, 2);
    float* const d_scores = call_.scratch.floats(score_gradient_slot, block_queries * length_);
    const std::int64_t last = (length_ - 1) / block_queries * block_queries;
    const bool starts = index_ % sizes_.group == 0, window = sizes_.first_seen(last) > 0;
    for (std::int64_t t = 0; t < length_ && starts && window; ++t) {
      for (const HeadBlock& sums : {dk, dv}) std::fill_n(sums.row(t), columns_, 0.0F);
    }
    for (std::int64_t first = last; first >= 0; first -= block_queries) {
      const std::int64_t rows = std::min(block_queries, length_ - first);
      const std::int64_t begin = sizes_.first_seen(first), seen = first + rows - begin;
      // Heads of a group add to the gradients of the keys and values that they share.
      const float beta = first == last && starts && !window ? 0.0F : 1.0F;
      weights(q, k, first, rows);
      product({GemmForm::tn, seen, columns_, rows, scores_, seen, gradient.row(first),
               gradient.stride, dv.row(begin), dv.stride, beta});
      product({GemmForm::nt, rows, seen, columns_, gradient.row(first), gradient.stride,
               v.row(begin), v.stride, d_scores, seen, 0.0F});
      for (std::int64_t t = 0; t < rows; ++t) {
        const float centre = rows::dot(gradient.row(first + t), output.row(first + t), columns_);
        const std::int64_t hidden = sizes_.first_seen(first + t) - begin;
        std::fill_n(d_scores + t * seen, hidden, 0.0F);
        rows::score_gradient(scores_ + t * seen + hidden, centre,
                             {first + t + 1 - begin - hidden, seen - hidden, scale_},
                             d_scores + t * seen + hidden);
      }
      product({GemmForm::nn, rows, columns_, seen, d_scores, seen, k.row(begin), k.stride,
               dq.row(first), dq.stride, 0.0F});
      product({GemmForm::tn, seen, columns_, rows, d_scores, seen, q.row(first), q.stride,
               dk.row(begin), dk.stride, beta});
    }
    write(call_.out(), qkv_column(0), dq);
    write(call_.out(), qkv_column(1), dk);
    write(call_.out(), qkv_column(2), dv);
  }

 private:
  std::int64_t qkv_column(int which) const { return sizes_.first_column(index_, which); }

  HeadBlock read(const Tensor& t, std::int64_t column, Slot slot) const {
    if (t.precision == Precision::fp32) return {t.fp32() + first_row_ * t.cols + column, t.cols};
    float* const copy = call_.scratch.floats(slot, length_ * columns_);
    place(t, {first_row_, length_, column, columns_}, copy);
    return {copy, columns_};
  }
  HeadBlock room(const Tensor& t, std::int64_t column, Slot slot, std::int64_t which) const {
    if (t.precision == Precision::fp32) return {t.fp32() + first_row_ * t.cols + column, t.cols};
    const std::int64_t size = length_ * columns_;
    return {call_.scratch.floats(slot, 3 * size) + which * size, columns_};
  }
  void write(const Tensor& t, std::int64_t column, const HeadBlock& from) const {
    if (t.precision == Precision::fp32) return;
    for (std::int64_t r = 0; r < length_; ++r) {
      rows::narrow(from.row(r), columns_, t.bf16() + (first_row_ + r) * t.cols + column);
    }
  }

  // The block's softmax weights; a row of scores_ has a column for each token from the first that
  // one of the block looks at to the block's last.
  void weights(const HeadBlock& q, const HeadBlock& k, std::int64_t first, std::int64_t rows) {
    const std::int64_t begin = sizes_.first_seen(first), seen = first + rows - begin;
    product({GemmForm::nt, rows, seen, columns_, q.row(first), q.stride, k.row(begin), k.stride,
             scores_, seen, 0.0F});
    for (std::int64_t t = 0; t < rows; ++t) {
      const std::int64_t hidden = sizes_.first_seen(first + t) - begin;
      float* const row = scores_ + t * seen;
      std::fill_n(row, hidden, 0.0F);
      rows::causal_softmax(row + hidden, {first + t + 1 - begin - hidden, seen - hidden, scale_});
    }
  }
  void product(const Sgemm& sizes) const {
    sgemm(Library::onednn, sizes);
    if (call_.progress) call_.progress();
  }

  const KernelCall& call_;
  std::int64_t first_row_, index_, length_, columns_;
  reference::AttentionSizes sizes_;
  float scale_ = 1.0F;
  float* scores_ = nullptr;
};

// Every head of every sequence: queries, keys and values stand in operand `qkv`.
template <void (Head::*work)()>
void for_each_head(const KernelCall& call, std::size_t qkv) {
  const Tensor& t = call.in(qkv);
  const reference::AttentionSizes sizes = sizes_of(call);
  const std::int64_t heads = sizes.heads_in(t.cols);
  for (std::int64_t row = 0; row < t.rows; row += call.op.attributes.sequence) {
    for (std::int64_t i = 0; i < heads; ++i) {
      Head head(call, row, i);
      (head.*work)();
    }
  }
}

void forward(const KernelCall& call) {
  for_each_head<&Head::forward>(call, 0);
}

void backward(const KernelCall& call) {
  for_each_head<&Head::backward>(call, 1);
}

}  // namespace

std::span<const KernelOf> attention_kernels() {
  static constexpr KernelOf kernels[]{
      {&functions::attention, forward},
      {&functions::attention_backward, backward},
  };
  return kernels;
}

}  // namespace fourfold::inline engine::inline cpu
