// The reference backend: what the reference kernels give, bit by bit, with bf16 at the edges; and
// what backends refuse.
#include "engine/cpu/reference_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/blocks.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const Program& program() {
  static const Program recorded = record_step(odd_model(), {});
  return recorded;
}

class ReferenceBackendTest : public testing::TestWithParam<Precision> {};

TEST_P(ReferenceBackendTest, EqualsTheReferenceKernelsBitByBit) {
  ReferenceBackend backend;
  for (Case& c : cases_of(program(), {odd_model(), {2, 3, 1, 1}, 4, 3, GetParam()})) {
    const Matrix<float> expected = c.reference_result<float>();

    backend.compute(c.device, c.op, c.operands(), {});

    const bool rounded = c.output.tensor().precision == Precision::bf16;
    for (std::int64_t i = 0; i < c.output.size(); ++i) {
      const float e = expected.values[static_cast<std::size_t>(i)];
      ASSERT_EQ(c.output.get(i), rounded ? rounded_to_bf16(e) : e) << c.described() << " at " << i;
    }
  }
}

TEST_P(ReferenceBackendTest, UpdatesMastersAndRoundsWeights) {
  std::mt19937 random(3);
  Block gradient(1, 37, GetParam()), weight(1, 37, Precision::bf16);
  Block master(1, 37, Precision::fp32), m(1, 37, Precision::fp32), v(1, 37, Precision::fp32);
  for (Block* block : {&gradient, &master, &m}) fill(*block, random);
  for (std::int64_t i = 0; i < 37; ++i) v.set(i, m.get(i) * m.get(i));
  Matrix<float> expected_master = master.numbers<float>();
  Matrix<float> expected_m = m.numbers<float>(), expected_v = v.numbers<float>();
  const Matrix<float> g = gradient.numbers<float>();
  const reference::AdamWStep step{{}, 3, 0.1};
  reference::adamw(
      step, g.view(), 0.5F,
      reference::Shard<float>{expected_master.view(), expected_m.view(), expected_v.view()});

  ReferenceBackend().update(
      step, {gradient.tensor(), 0.5F, weight.tensor(), master.tensor(), m.tensor(), v.tensor()},
      {});

  EXPECT_EQ(master.numbers<float>(), expected_master);
  EXPECT_EQ(m.numbers<float>(), expected_m);
  EXPECT_EQ(v.numbers<float>(), expected_v);
  for (std::int64_t i = 0; i < 37; ++i) EXPECT_EQ(weight.get(i), rounded_to_bf16(master.get(i)));
}

INSTANTIATE_TEST_SUITE_P(Precisions, ReferenceBackendTest,
                         testing::Values(Precision::fp32, Precision::bf16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

Case first_of(OpKind kind) {
  for (Case& c : cases_of(program(), {odd_model(), {1, 1, 1, 1}, 0, 2, Precision::fp32})) {
    if (c.op.kind == kind) return std::move(c);
  }
  throw std::logic_error("no such operation");
}

TEST(Refusals, NameTheOperationAndWhatWouldFit) {
  ReferenceBackend backend;
  const auto computing = [&](Case& c, const KernelOperands& operands) {
    return [&backend, &c, operands] { backend.compute(c.device, c.op, operands, {}); };
  };
  Case product = first_of(OpKind::gemm);
  Case attention = first_of(OpKind::apply);
  Case lookup = first_of(OpKind::lookup);
  KernelOperands narrow = product.operands();
  narrow.output.cols -= 1;
  KernelOperands few = product.operands();
  few.inputs.pop_back();
  KernelOperands integers = product.operands();
  integers.inputs[0].precision = Precision::int32;
  KernelOperands cut = attention.operands();
  cut.inputs[0].rows -= 1;
  KernelOperands wordless = lookup.operands();
  wordless.words = {};

  EXPECT_THAT(computing(product, narrow), ThrowsMessage<std::invalid_argument>(
                                              HasSubstr("gemm NN: the result must be 26 x 126")));
  EXPECT_THAT(computing(product, few),
              ThrowsMessage<std::invalid_argument>(HasSubstr("got 1 operands, not 2")));
  EXPECT_THAT(computing(product, integers),
              ThrowsMessage<std::invalid_argument>(HasSubstr("must hold fp32 or bf16")));
  EXPECT_THAT(computing(attention, cut),
              ThrowsMessage<std::invalid_argument>(HasSubstr("25 rows are no whole sequences")));
  EXPECT_THAT(computing(lookup, wordless),
              ThrowsMessage<std::invalid_argument>(HasSubstr("got 0 words for 26 rows")));
}

}  // namespace
}  // namespace fourfold::tests
