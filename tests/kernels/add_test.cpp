// Sums of tensors: of any number of operands, in either precision, into memory of their own or into
// that of any operand.
#include <gtest/gtest.h>

#include <array>

#include "engine/cpu/reference_backend.hpp"
#include "engine/cpu/tuned_backend.hpp"
#include "schedule/program/recorder.hpp"
#include "tests/kernels/blocks.hpp"

namespace fourfold::tests {
namespace {

// More than two stretches, and no multiple of sixteen.
constexpr std::int64_t rows = 3, cols = 1667;

class Sums : public testing::TestWithParam<Precision> {
 protected:
  Precision precision() const { return GetParam(); }
  // Small whole numbers: their sums are exact in either precision.
  Block operand(std::size_t number) const {
    Block block(rows, cols, precision());
    const auto k = static_cast<std::int64_t>(number);
    for (std::int64_t i = 0; i < block.size(); ++i) {
      block.set(i, static_cast<float>((i * (k + 3) + 5 * k) % 23 - 9));
    }
    return block;
  }
};

TEST_P(Sums, AreOfAllOperandsWhereverTheResultLies) {
  TunedBackend tuned;
  ReferenceBackend plain;
  for (std::size_t count = 2; count <= 5; ++count) {
    Recorder r(precision(), OptimizerState::none);
    r.begin_section("alone", -1);
    std::vector<Id> inputs;
    std::vector<Block> blocks;
    std::vector<float> expected(static_cast<std::size_t>(rows * cols), 0.0F);
    for (std::size_t k = 0; k < count; ++k) {
      inputs.push_back(r.data("input" + std::to_string(k), {rows, cols, {}}, precision()));
      blocks.push_back(operand(k));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] += blocks.back().get(static_cast<std::int64_t>(i));
      }
    }
    r.add({"sum"}, inputs, precision());
    const Program program = r.finish();
    const Device device{&program, {}, 0, 1, 1, 1.0};
    for (Backend* const backend : std::array<Backend*, 2>{&tuned, &plain}) {
      // In memory of its own, then over each operand.
      for (std::size_t over = 0; over <= count; ++over) {
        std::vector<Block> own = blocks;
        Block apart(rows, cols, precision());
        KernelOperands operands;
        for (Block& block : own) operands.inputs.push_back(block.tensor());
        Block& result = over == count ? apart : own[over];
        operands.output = result.tensor();

        backend->compute(device, program.ops[0], operands, {});

        for (std::int64_t i = 0; i < result.size(); ++i) {
          ASSERT_EQ(result.get(i), expected[static_cast<std::size_t>(i)])
              << count << " operands, over " << over << ", element " << i;
        }
        for (std::size_t k = 0; k < count; ++k) {
          if (k != over) {
            EXPECT_EQ(own[k].numbers<float>(), blocks[k].numbers<float>());
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, Sums, testing::Values(Precision::fp32, Precision::bf16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

}  // namespace
}  // namespace fourfold::tests
