// What is kept of keys and values, and attention to it, as the fast backend computes it and as the
// referee does.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/bf16.hpp"
#include "engine/cpu/reference_backend.hpp"
#include "engine/cpu/tuned_backend.hpp"
#include "schedule/program/recorder.hpp"

namespace fourfold::tests {
namespace {

std::vector<std::byte> drawn(const Tensor& like, std::mt19937& random) {
  std::normal_distribution<float> numbers;
  std::vector<std::byte> bytes(static_cast<std::size_t>(like.bytes()));
  for (std::int64_t i = 0; i < like.size(); ++i) {
    const float x = numbers(random);
    if (like.precision == Precision::fp32) {
      reinterpret_cast<float*>(bytes.data())[i] = x;
    } else {
      reinterpret_cast<std::uint16_t*>(bytes.data())[i] = bf16_bits(x);
    }
  }
  return bytes;
}

struct Outcome {
  std::vector<std::byte> result, cache;
};

// A function of QKV and a cache, or of QKV alone, computed by a backend.
Outcome computed(Backend& backend, const Program& program, const Op& op, std::int64_t length,
                 const Tensor& qkv, const Tensor& cache) {
  std::mt19937 random(11);
  std::vector<std::byte> of_qkv = drawn(qkv, random);
  Outcome out{{}, drawn(cache, random)};
  KernelOperands operands;
  operands.inputs = {qkv};
  operands.inputs[0].data = of_qkv.data();
  if (op.inputs.size() > 1) {
    operands.inputs.push_back(cache);
    operands.inputs[1].data = out.cache.data();
  }
  const Shape& shape = program[op.outputs[0]].shape;
  operands.output = {nullptr, shape.local_rows({}, {qkv.rows}), shape.local_cols({}, {qkv.rows}),
                     qkv.precision};
  out.result.resize(static_cast<std::size_t>(operands.output.bytes()));
  operands.output.data = out.result.data();
  Device device;
  device.program = &program;
  device.head_columns = 4;
  device.length = length;
  backend.compute(device, op, operands, {});
  return out;
}

double largest_difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                          Precision precision) {
  double largest = a.size() == b.size() ? 0.0 : INFINITY;
  const std::size_t width = precision == Precision::fp32 ? 4 : 2;
  for (std::size_t i = 0; i + width <= std::min(a.size(), b.size()); i += width) {
    const auto at = [&](const std::vector<std::byte>& of) -> double {
      if (width == 4) return *reinterpret_cast<const float*>(of.data() + i);
      return from_bf16_bits(*reinterpret_cast<const std::uint16_t*>(of.data() + i));
    };
    largest = std::max(largest, std::abs(at(a) - at(b)));
  }
  return largest;
}

TEST(KeyValueCacheKernels, AreTheRefereesInBothPrecisions) {
  ReferenceBackend reference;
  TunedBackend tuned;
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    for (const Attributes of : {Attributes{.sequence = 6, .group = 1, .heads = 3},
                                Attributes{.sequence = 6, .group = 2, .heads = 6, .window = 4}}) {
      const std::int64_t columns = 3 * (of.group + 2) * 4;
      Recorder r(precision);
      r.begin_stage({});
      const Id qkv = r.data("qkv", {all_tokens, columns, {}}, precision);
      const Id kept = r.data("cache", functions::cache_of_sequences(r.value(qkv).shape, of),
                             precision, Role::cache);
      r.begin_section("test", -1);
      r.apply({functions::keep_keys_and_values, "kept", precision, of}, {qkv});
      r.apply({functions::attention_to_cache, "attention", precision, of}, {qkv, kept});
      r.apply({functions::last_of_sequence, "last", precision, of}, {qkv});
      const Program program = r.finish();
      for (const Op& op : program.ops) {
        for (std::int64_t length = 1; length <= of.sequence; ++length) {
          const bool decodes = op.is(functions::attention_to_cache);
          const Tensor own{nullptr, decodes ? 3 : 3 * of.sequence, columns, precision};
          const Tensor cache{nullptr, 3 * functions::cached_tokens(of), 3 * 2 * 4, precision};
          const Outcome slow = computed(reference, program, op, length, own, cache);
          const Outcome fast = computed(tuned, program, op, length, own, cache);
          SCOPED_TRACE(std::string(op.function->name) + " of " + std::to_string(length));
          EXPECT_EQ(fast.cache, slow.cache);
          const double rounding = precision == Precision::fp32 ? 1e-5 : 0.02;
          if (op.is(functions::keep_keys_and_values)) {
            // What is not kept is whatever was there: zeros, in this test.
            EXPECT_EQ(fast.result, slow.result);
          } else {
            EXPECT_LT(largest_difference(fast.result, slow.result, precision), rounding);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
