// What the backends refuse before they touch memory: operands that do not fit their operation, each
// changed in one way, over all operations of a GPT's step and of a Llama's.
#include "engine/cpu/checks.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cpu/reference_backend.hpp"
#include "engine/cpu/tuned_backend.hpp"
#include "tests/kernels/blocks.hpp"
#include "tests/refusal.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

struct Change {
  const char* what;
  void (*make)(Tensor&);
};
// That leave no operand fit, whatever the operation is.
const Change unusable[] = {{"of int32", [](Tensor& t) { t.precision = Precision::int32; }},
                           {"without memory", [](Tensor& t) { t.data = nullptr; }},
                           {"without rows", [](Tensor& t) { t.rows = 0; }},
                           {"without columns", [](Tensor& t) { t.cols = 0; }}};
const Change other_extents[] = {{"of a row less", [](Tensor& t) { --t.rows; }},
                                {"of a row more", [](Tensor& t) { ++t.rows; }},
                                {"of a column less", [](Tensor& t) { --t.cols; }},
                                {"of a column more", [](Tensor& t) { ++t.cols; }}};

class Checks : public testing::TestWithParam<const char*> {
 protected:
  Model model() const {
    return std::string(GetParam()) == "gpt" ? odd_model() : as_llama(odd_model());
  }
  Program recorded(AttentionKernel attention) const {
    StepOptions options;
    options.attention = attention;
    return record_step(model(), options);
  }
  std::vector<Case> cases() {
    const StepCase step{model(), ProcessGrid(1, 1, 1, 1), 0, 6, Precision::fp32};
    std::vector<Case> all = cases_of(fused_, step);
    for (Case& c : cases_of(unfused_, step)) all.push_back(std::move(c));
    return all;
  }
  static std::string said(const Case& c, const KernelOperands& operands) {
    return refusal([&] { check_operands(c.device, c.op, operands); });
  }

 private:
  const Program fused_ = recorded(AttentionKernel::fused);
  const Program unfused_ = recorded(AttentionKernel::unfused);
};

TEST_P(Checks, AcceptEveryOperationOfAStep) {
  for (Case& c : cases()) EXPECT_EQ(said(c, c.operands()), "accepted") << c.described();
}

TEST_P(Checks, RefuseOperandsAndResultsThatNobodyCouldRead) {
  ReferenceBackend reference;
  TunedBackend tuned;
  for (Case& c : cases()) {
    for (const Change& change : unusable) {
      KernelOperands result = c.operands();
      change.make(result.output);
      // Of a lookup, the rows are those of its words.
      EXPECT_THAT(said(c, result), AnyOf(HasSubstr("the result"), HasSubstr("words for 0 rows")))
          << c.described() << change.what;
      for (std::size_t i = 0; i < c.op.inputs.size(); ++i) {
        if ((*c.program)[c.op.inputs[i]].precision == Precision::int32) continue;
        KernelOperands operands = c.operands();
        change.make(operands.inputs[i]);
        EXPECT_THAT(said(c, operands), HasSubstr("operand " + std::to_string(i)))
            << c.described() << change.what;
      }
    }
    KernelOperands fewer = c.operands(), more = c.operands();
    fewer.inputs.pop_back();
    more.inputs.push_back(c.output.tensor());
    for (const KernelOperands& operands : {fewer, more}) {
      const std::string sentence = said(c, operands);
      EXPECT_THAT(sentence, HasSubstr(fmt::format("got {} operands, not {}", operands.inputs.size(),
                                                  c.op.inputs.size())))
          << c.described();
      // Both backends look before they compute.
      for (Backend* const backend : std::initializer_list<Backend*>{&reference, &tuned}) {
        EXPECT_EQ(refusal([&] { backend->compute(c.device, c.op, operands, {}); }), sentence);
      }
    }
    if (c.words.empty()) continue;
    KernelOperands words = c.operands();
    words.words = words.words.first(words.words.size() - 1);
    EXPECT_THAT(said(c, words), HasSubstr("words for")) << c.described();
  }
}

// Operations that know the extents of all they read: products, attention, gates.
TEST_P(Checks, RefuseOtherExtentsOfOperandsThatBelongTogether) {
  int seen = 0;
  for (Case& c : cases()) {
    const bool gate = c.op.function->result == ResultShape::gated ||
                      c.op.function->result == ResultShape::gated_from;
    if (c.op.kind != OpKind::gemm && c.op.kind != OpKind::apply &&
        c.op.function->products.empty() && !gate) {
      continue;
    }
    ++seen;
    for (const Change& change : other_extents) {
      KernelOperands result = c.operands();
      change.make(result.output);
      EXPECT_NE(said(c, result), "accepted") << c.described() << ", result " << change.what;
      for (std::size_t i = 0; i < c.op.inputs.size(); ++i) {
        KernelOperands operands = c.operands();
        change.make(operands.inputs[i]);
        EXPECT_NE(said(c, operands), "accepted")
            << c.described() << ", operand " << i << " " << change.what;
      }
    }
  }
  EXPECT_GT(seen, 20);
}

// Rotary embeddings and softmax go by sequences and heads; heads that do not fill the columns,
// sequences that do not fill the rows.
TEST_P(Checks, RefuseRowsAndColumnsThatAreNoWholeSequencesAndHeads) {
  int maps = 0, heads = 0, sequences = 0;
  for (Case& c : cases()) {
    if (c.op.attributes.sequence == 0) continue;
    SCOPED_TRACE(c.described());
    if (c.op.kind == OpKind::map && c.op.function->products.empty()) {
      ++maps;
      for (const Change& change : other_extents) {
        KernelOperands operands = c.operands();
        change.make(operands.output);
        EXPECT_THAT(said(c, operands), HasSubstr("no whole")) << change.what;
      }
    }
    Case other = c;
    other.op.attributes.sequence = 5;
    EXPECT_THAT(said(other, c.operands()), HasSubstr("no whole"));
    ++sequences;
    other = c;
    other.device.head_columns = 0;
    if (said(other, c.operands()) != "accepted") ++heads;
  }
  EXPECT_GE(maps, 2);
  EXPECT_GT(sequences, 5);
  EXPECT_GT(heads, 2);
}

INSTANTIATE_TEST_SUITE_P(Models, Checks, testing::Values("gpt", "llama"),
                         [](const auto& info) { return std::string(info.param); });

TEST(UpdateChecks, RefuseUpdatesOfOtherSizesAndPrecisions) {
  Block all[5];
  for (Block& one : all) one = Block(1, 6, Precision::fp32);
  const auto operands = [&] {
    return UpdateOperands{all[0].tensor(), 1.0F,           all[1].tensor(), all[2].tensor(),
                          all[3].tensor(), all[4].tensor()};
  };
  Tensor UpdateOperands::*const parts[] = {&UpdateOperands::gradient, &UpdateOperands::weight,
                                           &UpdateOperands::master, &UpdateOperands::first_moment,
                                           &UpdateOperands::second_moment};
  EXPECT_EQ(refusal([&] { check_operands(operands()); }), "accepted");
  for (Tensor UpdateOperands::*const part : parts) {
    UpdateOperands longer = operands(), words = operands(), narrow = operands();
    (longer.*part).cols = 7;
    (words.*part).precision = Precision::int32;
    (narrow.*part).precision = Precision::bf16;
    const bool kept_in_fp32 = part != &UpdateOperands::gradient && part != &UpdateOperands::weight;

    EXPECT_THAT(refusal([&] { check_operands(longer); }), HasSubstr("a shard of "));
    EXPECT_NE(refusal([&] { check_operands(words); }), "accepted");
    EXPECT_EQ(refusal([&] { check_operands(narrow); }) != "accepted", kept_in_fp32);
  }
}

}  // namespace
}  // namespace fourfold::tests
