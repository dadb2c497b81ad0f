// Keys and values that are kept row by row, and attention of one token a sequence to them, the
// heads of a group together: they read the same keys; see key_value_cache_kernels.hpp.
#include "engine/cpu/key_value_cache_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "engine/cpu/map_operands.hpp"
#include "engine/cpu/row_sums.hpp"
#include "engine/reference/key_value_cache.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

enum Slot : std::size_t { qkv_slot = first_slot, cache_slot, output_slot, score_slot };

reference::CacheSizes sizes_of(const KernelCall& call) {
  const Attributes& of = call.op.attributes;
  return {{of.sequence, call.device.head_columns, of.group, of.window},
          functions::cached_tokens(of)};
}

// A row of QKV, as numbers, joins the cache.
void keep_row(const float* qkv, std::int64_t groups, const reference::CacheSizes& sizes,
              const Writer& cache, std::int64_t row) {
  const std::int64_t columns = sizes.group_columns();
  float* const to = cache.row(row);
  for (std::int64_t g = 0; g < groups; ++g) {
    rows::copy(qkv + sizes.of_qkv(g), columns, to + g * columns);
  }
  cache.finish_row(row);
}

void keep(const KernelCall& call) {
  const Tensor &qkv = call.in(0), &cache = call.out();
  const reference::CacheSizes sizes = sizes_of(call);
  const Reader from(qkv, call.scratch.floats(qkv_slot, qkv.cols));
  const Writer to(cache, call.scratch.floats(cache_slot, cache.cols));
  Pace pace(call.progress);
  for (std::int64_t sequence = 0; sequence * sizes.attention.sequence < qkv.rows; ++sequence) {
    for (std::int64_t t = sizes.first_kept(call.device.length); t < call.device.length; ++t) {
      keep_row(from.row(sequence * sizes.attention.sequence + t), sizes.groups_in(qkv.cols), sizes,
               to, sizes.row(sequence, t));
      pace.did(cache.cols);
    }
  }
}

// Attention of a group's heads of one sequence.
class GroupToCache {
 public:
  GroupToCache(const KernelCall& call, const reference::CacheSizes& sizes)
      : call_(call),
        sizes_(sizes),
        length_(call.device.length),
        first_(sizes.attention.first_seen(length_ - 1)),
        seen_(length_ - first_),
        columns_(sizes.attention.head_columns),
        scores_(call.scratch.floats(score_slot, sizes.attention.group * seen_)),
        cache_(call.in(1), call.scratch.floats(cache_slot, call.in(1).cols)) {}

  void attend(std::int64_t sequence, std::int64_t group, const float* queries, float* out) const {
    const std::int64_t heads = sizes_.attention.group, key = group * sizes_.group_columns();
    for (std::int64_t t = first_; t < length_; ++t) {
      const float* const own = columns_of(sequence, t, key);
      for (std::int64_t head = 0; head < heads; ++head) {
        scores_[head * seen_ + t - first_] = rows::dot(queries + head * columns_, own, columns_);
      }
    }
    const float scale = 1.0F / std::sqrt(static_cast<float>(columns_));
    for (std::int64_t head = 0; head < heads; ++head) {
      rows::causal_softmax(scores_ + head * seen_, {seen_, seen_, scale});
    }
    std::fill_n(out, heads * columns_, 0.0F);
    for (std::int64_t t = first_; t < length_; ++t) {
      const float* const own = columns_of(sequence, t, key + columns_);
      for (std::int64_t head = 0; head < heads; ++head) {
        const float weight = scores_[head * seen_ + t - first_];
        float* const sum = out + head * columns_;
        for (std::int64_t c = 0; c < columns_; ++c) sum[c] += weight * own[c];
      }
    }
  }

 private:
  const float* columns_of(std::int64_t sequence, std::int64_t t, std::int64_t first) const {
    return cache_.stretch(sizes_.row(sequence, t) * call_.in(1).cols + first, columns_);
  }

  const KernelCall& call_;
  reference::CacheSizes sizes_;
  std::int64_t length_, first_, seen_, columns_;
  float* scores_;
  Reader cache_;
};

void attend(const KernelCall& call) {
  const Tensor &qkv = call.in(0), &cache = call.in(1), &out = call.out();
  const reference::CacheSizes sizes = sizes_of(call);
  const std::int64_t groups = sizes.groups_in(qkv.cols);
  const Reader from(qkv, call.scratch.floats(qkv_slot, qkv.cols));
  const Writer to(out, call.scratch.floats(output_slot, out.cols));
  const Writer kept(cache, call.scratch.floats(cache_slot, cache.cols));
  const GroupToCache group(call, sizes);
  Pace pace(call.progress);
  for (std::int64_t sequence = 0; sequence < qkv.rows; ++sequence) {
    const float* const row = from.row(sequence);
    keep_row(row, groups, sizes, kept, sizes.row(sequence, call.device.length - 1));
    float* const result = to.row(sequence);
    for (std::int64_t g = 0; g < groups; ++g) {
      group.attend(sequence, g, row + g * sizes.attention.group_columns(),
                   result + g * sizes.attention.group * sizes.attention.head_columns);
      pace.did(2 * sizes.tokens * sizes.group_columns());
    }
    to.finish_row(sequence);
  }
}

void last_of_sequence(const KernelCall& call) {
  const Tensor& out = call.out();
  const Reader from(call.in(0), call.scratch.floats(qkv_slot, out.cols));
  const Writer to(out, call.scratch.floats(output_slot, out.cols));
  for (std::int64_t r = 0; r < out.rows; ++r) {
    rows::copy(from.row(r * call.op.attributes.sequence + call.device.length - 1), out.cols,
               to.row(r));
    to.finish_row(r);
  }
}

}  // namespace

std::span<const KernelOf> key_value_cache_kernels() {
  static constexpr KernelOf kernels[]{
      {&functions::keep_keys_and_values, keep},
      {&functions::attention_to_cache, attend},
      {&functions::last_of_sequence, last_of_sequence},
  };
  return kernels;
}

}  // namespace fourfold::inline engine::inline cpu
