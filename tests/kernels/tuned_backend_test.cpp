// The fast kernels against the reference in double: every operation of a GPT's step and of a
// Llama's, on odd blocks, in both precisions; in place; and with progress calls, which change
// nothing; what is kept of keys and values; updates.
#include "engine/cpu/tuned_backend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "engine/cpu/reference_backend.hpp"
#include "schedule/program/recorder.hpp"
#include "tests/kernels/blocks.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
namespace {

// fp32 sums of up to a few hundred products: 2^-23 times a few tens, of the largest result; what is
// stored in bf16 is rounded once more, within 2^-8 of itself.
constexpr double fp32_bound = 4e-6;

double bound(double expected, double largest, Precision precision) {
  const double rounding = precision == Precision::bf16 ? std::abs(expected) / 256 : 0.0;
  return fp32_bound * std::max(largest, 1e-3) + rounding;
}

void expect_close(Case& c) {
  const Matrix<double> expected = c.reference_result<double>();
  double largest = 0.0;
  for (double x : expected.values) largest = std::max(largest, std::abs(x));
  for (std::int64_t i = 0; i < c.output.size(); ++i) {
    const double e = expected.values[static_cast<std::size_t>(i)];
    ASSERT_NEAR(c.output.get(i), e, bound(e, largest, c.output.tensor().precision))
        << c.described() << " at " << i;
  }
}

// Three pairs of heads of 10 columns, which share a key and a value each, and 69 columns of SwiGLU.
Model odd_llama() {
  Model model = as_llama(odd_model());
  model.head_size = 10;
  model.mlp_width = 69;
  return model;
}

// With norms of queries and keys over all heads, or by head, and windows.
Model odd_beyond(std::size_t which) {
  Model model = beyond_llama(odd_model())[which];
  model.head_size = 10;
  return model;
}

struct Setting {
  Precision precision;
  ProcessGrid grid;
  std::int64_t rank;
  Model model = odd_model();
  // Of 12 tokens a sequence, where x cuts them.
  bool sequence_parallel = false;
};

// Sequences that x cuts amid their tokens: 4 or 8 rows a device, whose first is any position.
Setting cut_amid(Precision precision, const ProcessGrid& grid, std::int64_t rank,
                 Model model = odd_model()) {
  model.sequence = 12;
  return {precision, grid, rank, model, true};
}

class EveryOperation : public testing::TestWithParam<Setting> {
 protected:
  std::vector<Case> cases() {
    const StepCase step{GetParam().model, GetParam().grid, GetParam().rank,
                        GetParam().sequence_parallel ? 2 : 6, GetParam().precision};
    std::vector<Case> all = cases_of(program_, step);
    for (Case& c : cases_of(unfused_, step)) {
      if (c.op.attributes.sequence > 0) all.push_back(std::move(c));
    }
    return all;
  }
  static Program recorded(AttentionKernel attention) {
    StepOptions options;
    options.attention = attention;
    options.sequence_parallel = GetParam().sequence_parallel;
    return record_step(GetParam().model, options);
  }
  const Program program_ = recorded(AttentionKernel::fused);
  const Program unfused_ = recorded(AttentionKernel::unfused);
  TunedBackend backend_;
};

TEST_P(EveryOperation, AgreesWithTheReferenceInDouble) {
  std::vector<Case> all = cases();
  ASSERT_GT(all.size(), 30U);
  for (Case& c : all) {
    backend_.compute(c.device, c.op, c.operands(), {});

    expect_close(c);
  }
}

TEST_P(EveryOperation, CallsProgressAndGivesTheSameBits) {
  for (Case& c : cases()) {
    backend_.compute(c.device, c.op, c.operands(), {});
    Block again = c.output;
    KernelOperands operands = c.operands();
    operands.output = again.tensor();
    int calls = 0;

    backend_.compute(c.device, c.op, operands, [&calls] { ++calls; });

    EXPECT_EQ(std::memcmp(again.tensor().data, c.output.tensor().data,
                          static_cast<std::size_t>(again.tensor().bytes())),
              0)
        << c.described();
    if (c.op.kind == OpKind::gemm || c.op.kind == OpKind::apply) {
      EXPECT_GT(calls, 0) << c.described();
    }
  }
}

// Of maps and adds, the result may be the memory of any operand of its extents and precision.
TEST_P(EveryOperation, WorksInPlace) {
  int tried = 0;
  for (Case& c : cases()) {
    if (c.op.kind != OpKind::map && c.op.kind != OpKind::add) continue;
    backend_.compute(c.device, c.op, c.operands(), {});
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      const Tensor in = c.inputs[i].tensor();
      const Tensor out = c.output.tensor();
      if (in.rows != out.rows || in.cols != out.cols || in.precision != out.precision) continue;
      Block overwritten = c.inputs[i];
      KernelOperands operands = c.operands();
      operands.inputs[i] = overwritten.tensor();
      operands.output = overwritten.tensor();

      backend_.compute(c.device, c.op, operands, {});

      ++tried;
      EXPECT_EQ(
          std::memcmp(overwritten.tensor().data, out.data, static_cast<std::size_t>(out.bytes())),
          0)
          << c.described() << " over operand " << i;
    }
  }
  EXPECT_GT(tried, 10);
}

INSTANTIATE_TEST_SUITE_P(Settings, EveryOperation,
                         testing::Values(Setting{Precision::fp32, {1, 1, 1, 1}, 0},
                                         Setting{Precision::bf16, {1, 1, 1, 1}, 0},
                                         Setting{Precision::fp32, {2, 3, 1, 1}, 5},
                                         Setting{Precision::bf16, {3, 2, 1, 2}, 7},
                                         Setting{Precision::fp32, {1, 1, 1, 1}, 0, odd_llama()},
                                         Setting{Precision::bf16, {1, 1, 1, 1}, 0, odd_llama()},
                                         Setting{Precision::fp32, {3, 2, 1, 1}, 4, odd_llama()},
                                         Setting{Precision::bf16, {3, 2, 1, 2}, 7, odd_llama()},
                                         Setting{Precision::fp32, {3, 2, 1, 1}, 4, odd_beyond(0)},
                                         Setting{Precision::fp32, {3, 2, 1, 1}, 4, odd_beyond(1)},
                                         Setting{Precision::bf16, {1, 1, 1, 1}, 0, odd_beyond(1)},
                                         Setting{Precision::fp32, {1, 1, 1, 1}, 0, odd_beyond(2)},
                                         Setting{Precision::bf16, {3, 2, 1, 2}, 7, odd_beyond(2)},
                                         cut_amid(Precision::fp32, {3, 1, 1, 1}, 1),
                                         cut_amid(Precision::bf16, {3, 1, 1, 1}, 2),
                                         cut_amid(Precision::bf16, {3, 2, 1, 1}, 4, odd_llama())),
                         [](const auto& tested) {
                           std::string text = std::string(name(tested.param.precision)) + "_on_" +
                                              tested.param.grid.str();
                           text += tested.param.model.name.substr(3);
                           std::ranges::replace(text, '-', '_');
                           if (tested.param.sequence_parallel) text += "_cut_amid";
                           return text;
                         });

// Sequences longer than a block of queries, and no multiple of one; three heads share their keys.
class LongAttention : public testing::TestWithParam<Precision> {};

TEST_P(LongAttention, AgreesWithTheReferenceInDouble) {
  Model model{"long", 4, 96, 6, 150, 17};
  model.key_value_heads = 2;
  model.layer_pattern =
      "attention, attention window_tokens=100, attention window_tokens=64, attention "
      "window_tokens=5";
  StepOptions options;
  options.recompute = Recompute::none;
  const Program program = record_step(model, options);
  TunedBackend backend;
  int tried = 0;
  for (Case& c : cases_of(program, {model, {1, 1, 1, 1}, 0, 2, GetParam()})) {
    if (c.op.kind != OpKind::apply) continue;
    if (c.op.is(functions::attention_backward)) {  // its third operand is the forward's result
      Case forward = c;
      forward.op.function = &functions::attention;
      forward.op.inputs = {c.op.inputs[1]};
      forward.inputs = {c.inputs[1]};
      const Matrix<double> output = [&] {
        forward.output = Block(c.inputs[0].tensor().rows, c.inputs[0].tensor().cols,
                               c.inputs[0].tensor().precision);
        return forward.reference_result<double>();
      }();
      for (std::int64_t i = 0; i < c.inputs[2].size(); ++i) {
        c.inputs[2].set(i, static_cast<float>(output.values[static_cast<std::size_t>(i)]));
      }
    }

    backend.compute(c.device, c.op, c.operands(), {});

    ++tried;
    expect_close(c);
  }
  EXPECT_EQ(tried, 8);
}

INSTANTIATE_TEST_SUITE_P(Precisions, LongAttention,
                         testing::Values(Precision::fp32, Precision::bf16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

// 5,003 numbers are more than two stretches, and no multiple of sixteen. Weights are their masters
// in fp32, in the same memory or, where ranks share masters out, in memory of their own; or
// rounded.
class Update : public testing::TestWithParam<Precision> {};

TEST_P(Update, AgreesWithTheReferenceInDouble) {
  constexpr std::int64_t n = 5003;
  enum class Weights { masters, beside, rounded };
  TunedBackend tuned;
  ReferenceBackend plain;
  for (Backend* const backend : std::initializer_list<Backend*>{&tuned, &plain}) {
    for (const Weights kept : {Weights::masters, Weights::beside, Weights::rounded}) {
      std::mt19937 random(3);
      const bool rounded = kept == Weights::rounded;
      Block gradient(1, n, GetParam()), master(1, n, Precision::fp32);
      Block weight(1, n, rounded ? Precision::bf16 : Precision::fp32);
      Block m(1, n, Precision::fp32), v(1, n, Precision::fp32);
      for (Block* block : {&gradient, &master, &m}) fill(*block, random);
      for (std::int64_t i = 0; i < n; ++i) v.set(i, m.get(i) * m.get(i));
      Matrix<double> expected_master = master.numbers<double>();
      Matrix<double> expected_m = m.numbers<double>(), expected_v = v.numbers<double>();
      const Matrix<double> g = gradient.numbers<double>();
      const reference::AdamWStep step{{}, 3, 0.1};
      reference::adamw(
          step, g.view(), 0.5,
          reference::Shard<double>{expected_master.view(), expected_m.view(), expected_v.view()});

      backend->update(
          step,
          {gradient.tensor(), 0.5F, kept == Weights::masters ? master.tensor() : weight.tensor(),
           master.tensor(), m.tensor(), v.tensor()},
          {});

      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_NEAR(master.get(i), expected_master.values[at], 2e-6);
        ASSERT_NEAR(m.get(i), expected_m.values[at], 2e-6);
        ASSERT_NEAR(v.get(i), expected_v.values[at], 1e-6 * (1 + expected_v.values[at]));
        if (kept == Weights::masters) continue;
        ASSERT_EQ(weight.get(i), rounded ? rounded_to_bf16(master.get(i)) : master.get(i));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, Update, testing::Values(Precision::fp32, Precision::bf16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

struct Outcome {
  Block result, cache;
};

// A function of QKV and a cache, or of QKV alone, computed by a backend.
Outcome computed(Backend& backend, const Program& program, const Op& op, std::int64_t length,
                 Block qkv, Block cache) {
  std::mt19937 random(11);
  fill(qkv, random);
  fill(cache, random);
  const Shape& shape = program[op.outputs[0]].shape;
  const std::int64_t rows = qkv.tensor().rows;
  Outcome out{{shape.local_rows({}, {rows}), shape.local_cols({}, {rows}), qkv.tensor().precision},
              std::move(cache)};
  KernelOperands operands;
  operands.inputs = {qkv.tensor()};
  if (op.inputs.size() > 1) operands.inputs.push_back(out.cache.tensor());
  operands.output = out.result.tensor();
  Device device;
  device.program = &program;
  device.head_columns = 4;
  device.length = length;
  backend.compute(device, op, operands, {});
  return out;
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
          const Block own(decodes ? 3 : 3 * of.sequence, columns, precision);
          const Block cache(3 * functions::cached_tokens(of), 3 * 2 * 4, precision);
          Outcome slow = computed(reference, program, op, length, own, cache);
          Outcome fast = computed(tuned, program, op, length, own, cache);
          SCOPED_TRACE(std::string(op.function->name) + " of " + std::to_string(length));
          EXPECT_EQ(fast.cache.numbers<float>(), slow.cache.numbers<float>());
          // What is not kept is whatever was there: zeros, in this test.
          const double rounding = op.is(functions::keep_keys_and_values) ? 0.0
                                  : precision == Precision::fp32         ? 1e-5
                                                                         : 0.02;
          for (std::int64_t i = 0; i < fast.result.size(); ++i) {
            EXPECT_NEAR(fast.result.get(i), slow.result.get(i), rounding) << i;
          }
        }
      }
    }
  }
}

// The reference backend is the reference kernels, bit by bit, with bf16 at the edges.
class ReferenceBackendTest : public testing::TestWithParam<Precision> {};

TEST_P(ReferenceBackendTest, EqualsTheReferenceKernelsBitByBit) {
  ReferenceBackend backend;
  const Program program = record_step(odd_model(), {});
  for (Case& c : cases_of(program, {odd_model(), {2, 3, 1, 1}, 4, 3, GetParam()})) {
    const Matrix<float> expected = c.reference_result<float>();

    backend.compute(c.device, c.op, c.operands(), {});

    const bool rounded = c.output.tensor().precision == Precision::bf16;
    for (std::int64_t i = 0; i < c.output.size(); ++i) {
      const float e = expected.values[static_cast<std::size_t>(i)];
      ASSERT_EQ(c.output.get(i), rounded ? rounded_to_bf16(e) : e) << c.described() << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, ReferenceBackendTest,
                         testing::Values(Precision::fp32, Precision::bf16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

}  // namespace
}  // namespace fourfold::tests
