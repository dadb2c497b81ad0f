// Operations of a recorded GPT step with local blocks of random numbers, to run a backend on.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/backend.hpp"
#include "engine/bf16.hpp"
#include "engine/plan/block_place.hpp"
#include "engine/reference/compute.hpp"
#include "engine/words.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::tests {

// A tensor that owns its memory, aligned to 64 bytes as the arena's are.
class Block {
 public:
  Block() = default;
  Block(std::int64_t rows, std::int64_t cols, Precision precision)
      : memory_(static_cast<std::size_t>(rows * cols / 16 + 2)),
        rows_(rows),
        cols_(cols),
        precision_(precision) {}

  Tensor tensor() {
    return {reinterpret_cast<std::byte*>(memory_.data()), rows_, cols_, precision_};
  }
  std::int64_t size() const { return rows_ * cols_; }
  float get(std::int64_t i) {
    return precision_ == Precision::fp32 ? tensor().fp32()[i] : from_bf16_bits(tensor().bf16()[i]);
  }
  void set(std::int64_t i, float x) {
    if (precision_ == Precision::fp32) {
      tensor().fp32()[i] = x;
    } else {
      tensor().bf16()[i] = bf16_bits(x);
    }
  }
  template <typename T>
  Matrix<T> numbers() {
    Matrix<T> result(rows_, cols_);
    for (std::int64_t i = 0; i < size(); ++i) result.values[static_cast<std::size_t>(i)] = get(i);
    return result;
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory_;
  std::int64_t rows_ = 0, cols_ = 0;
  Precision precision_ = Precision::fp32;
};

// How the activations and weights of a run are kept; what the program records as fp32 stays so.
inline Precision kept(Precision recorded, Precision run) {
  return recorded == Precision::bf16 ? run : recorded;
}

// One operation of a step on one rank, with its operands.
struct Case {
  const Program* program = nullptr;
  Op op;
  ProcessGrid grid;
  std::int64_t rank = 0;
  std::int64_t tokens = 0;  // of a micro-batch on all devices
  Device device;
  std::vector<Block> inputs;
  std::vector<std::int32_t> words;
  Block output;

  KernelOperands operands() {
    KernelOperands result;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_words = (*program)[op.inputs[i]].precision == Precision::int32;
      result.inputs.push_back(is_words ? Tensor{} : inputs[i].tensor());
    }
    result.words = words;
    result.output = output.tensor();
    return result;
  }
  // What the reference makes of the operands, in T throughout.
  template <typename T>
  Matrix<T> reference_result() {
    std::vector<Matrix<T>> numbers;
    for (Block& input : inputs) numbers.push_back(input.numbers<T>());
    reference::Operands<T> operands;
    for (const Matrix<T>& matrix : numbers) operands.inputs.push_back(matrix.view());
    operands.tokens = words;
    Matrix<T> result(output.tensor().rows, output.tensor().cols);
    operands.output = result.view();
    reference::Kernels<T>().compute(device, op, operands);
    return result;
  }
  std::string described() const {
    return std::string(op.verb()) + " " + op.function->name + " " +
           (op.kind == OpKind::gemm ? name(op.form) : "") + " -> " +
           (*program)[op.outputs[0]].label.full();
  }
};

inline Block empty_block(const Case& c, Id id, Precision run) {
  const Value& value = (*c.program)[id];
  const Precision precision = kept(value.precision, run);
  if (!value.members.empty() || !value.shape.sharding.pieces.empty()) {
    return Block(1, c.program->local_elements(id, c.grid, {c.tokens}), precision);
  }
  return Block(value.shape.local_rows(c.grid, {c.tokens}),
               value.shape.local_cols(c.grid, {c.tokens}), precision);
}

// Normal numbers of size 1; statistics of rows, which are sums of squares or of exponentials, are
// positive.
inline void fill(Block& block, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> positive(0.5F, 4.0F);
  const bool statistics = block.tensor().cols <= 2;
  for (std::int64_t i = 0; i < block.size(); ++i) {
    block.set(i, statistics ? positive(random) : normal(random));
  }
}

struct StepCase {
  Model model;
  ProcessGrid grid;
  std::int64_t rank = 0;
  std::int64_t sequences = 0;
  Precision run = Precision::fp32;
};

// Every kind of operation of a step that a backend computes, once for each set of extents.
inline std::vector<Case> cases_of(const Program& program, const StepCase& step) {
  std::vector<Case> result;
  std::set<std::string> seen;
  std::mt19937 random(7);
  for (const Op& op : program.ops) {
    if (is_collective(op.kind) || op.kind == OpKind::pack || op.kind == OpKind::unpack ||
        op.kind == OpKind::update) {
      continue;
    }
    Case c{&program, op, step.grid, step.rank, step.sequences * step.model.sequence,
           {},       {}, {},        {}};
    c.device = {&program,
                step.grid,
                step.rank,
                step.model.head_columns(),
                c.tokens,
                1.0,
                step.model.norm_epsilon,
                step.model.rotary};
    std::string key = std::string(op.verb()) + op.function->name + name(op.form) +
                      std::to_string(op.attributes.window);
    for (Id input : op.inputs) {
      c.inputs.push_back(empty_block(c, input, step.run));
      const Tensor t = c.inputs.back().tensor();
      key += " " + std::to_string(t.rows) + "x" + std::to_string(t.cols);
      if (program[input].precision != Precision::int32) {
        fill(c.inputs.back(), random);
        continue;
      }
      for (std::int64_t r = 0; r < t.rows; ++r) {
        if (input == program.targets && r % 5 == 3) {
          c.words.push_back(ignored_target);
          continue;
        }
        c.words.push_back(static_cast<std::int32_t>(
            random() % static_cast<std::uint64_t>(step.model.vocabulary)));
      }
    }
    c.output = empty_block(c, op.outputs[0], step.run);
    if (seen.insert(key).second) result.push_back(std::move(c));
  }
  return result;
}

// A model whose extents are odd wherever they may be: heads of 7 columns, a vocabulary of 101.
inline Model odd_model() {
  return {"odd", 2, 42, 6, 13, 101};
}

}  // namespace fourfold::tests
