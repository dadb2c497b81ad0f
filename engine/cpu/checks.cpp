// Extents and precisions of operands against their operation; see checks.hpp.
#include "engine/cpu/checks.hpp"

#include <stdexcept>
#include <string>

namespace fourfold::inline engine::inline cpu {

namespace {

std::string extents(const Tensor& t) {
  return std::to_string(t.rows) + " x " + std::to_string(t.cols);
}

class Check {
 public:
  Check(const Op& op, const KernelOperands& operands) : op_(op), in_(operands.inputs) {
    operation_ = op.verb();
    if (op.kind == OpKind::gemm) operation_ += std::string(" ") + name(op.form);
    if (!op.is(functions::none)) operation_ += std::string(" ") + op.function->name;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw std::invalid_argument("kernel " + operation_ + ": " + why);
  }
  void numbers(const Tensor& t, const std::string& which) const {
    const bool whole = t.precision == Precision::int32 && !op_.function->whole_numbers;
    if (whole) refuse(which + " must hold fp32 or bf16, not int32");
    if (t.rows < 1 || t.cols < 1) refuse(which + " is empty (" + extents(t) + ")");
    if (t.data == nullptr) refuse(which + " has no memory");
  }
  void fits(const Tensor& t, const std::string& which, std::int64_t rows, std::int64_t cols) const {
    if (t.rows != rows || t.cols != cols) {
      refuse(which + " must be " + std::to_string(rows) + " x " + std::to_string(cols) + ", not " +
             extents(t));
    }
  }
  void gemm(const Tensor& out) const {
    const bool tn = op_.form == GemmForm::tn;
    const std::int64_t inner = tn ? in_[0].rows : in_[0].cols;
    const std::int64_t cols = op_.form == GemmForm::nt ? in_[1].rows : in_[1].cols;
    if (op_.form == GemmForm::nt) {
      fits(in_[1], "operand 1", cols, inner);
    } else {
      fits(in_[1], "operand 1", inner, cols);
    }
    fits(out, "the result", tn ? in_[0].cols : in_[0].rows, cols);
  }
  void whole_sequences(const Tensor& t) const {
    if (op_.attributes.newest) return;
    if (op_.attributes.sequence >= 1 && t.rows % op_.attributes.sequence == 0) return;
    refuse(std::to_string(t.rows) + " rows are no whole sequences of " +
           std::to_string(op_.attributes.sequence));
  }
  void whole_heads(const Tensor& t, std::int64_t columns_a_head) const {
    if (columns_a_head >= 1 && t.cols % columns_a_head == 0) return;
    refuse(std::to_string(t.cols) + " columns are no whole heads of " +
           std::to_string(columns_a_head));
  }
  std::int64_t group_columns(std::int64_t head_columns) const {
    return (op_.attributes.group + 2) * head_columns;
  }
  // Every part of every product belongs to as many heads of the same rows.
  void products(std::int64_t head_columns, const Tensor& out) const {
    whole_sequences(out);
    // Columns of so many heads, and heads of so many columns at least.
    const auto columns = [&](HeadPart part, std::int64_t heads) {
      if (part == HeadPart::pairs) return heads * op_.attributes.sequence;
      if (part == HeadPart::columns) return heads * head_columns;
      return heads / op_.attributes.group * group_columns(head_columns);
    };
    const HeadPart result = op_.function->products.front().result;
    const bool of_heads = result == HeadPart::pairs || result == HeadPart::columns;
    const std::int64_t at_least = of_heads ? 1 : op_.attributes.group;
    whole_heads(out, columns(result, at_least));
    const std::int64_t heads = out.cols / columns(result, at_least) * at_least;
    for (const HeadProduct& product : op_.function->products) {
      for (const HeadProduct::Operand& operand : {product.a, product.b}) {
        fits(in_.at(operand.number), "operand " + std::to_string(operand.number), out.rows,
             columns(operand.part, heads));
      }
    }
  }
  void softmax(const Tensor& out) const {
    whole_sequences(out);
    whole_heads(out, op_.attributes.sequence);
  }
  void whole_groups(const Tensor& qkv, std::int64_t head_columns) const {
    if (head_columns >= 1 && qkv.cols % group_columns(head_columns) == 0) return;
    refuse(std::to_string(qkv.cols) + " columns are no whole heads of " +
           std::to_string(op_.attributes.group + 2) + " x " + std::to_string(head_columns));
  }
  void rotary(std::int64_t head_columns, const Tensor& out) const {
    whole_sequences(out);
    whole_groups(out, head_columns);
    if (head_columns % 2 != 0)
      refuse("heads of " + std::to_string(head_columns) + " columns have no halves");
  }
  void gated(const Tensor& out) const {
    const bool forward = op_.function->result == ResultShape::gated;
    const Tensor& pairs = forward ? in_[0] : in_.at(1);
    const Tensor& halves = forward ? out : in_[0];
    fits(pairs, "the block of pairs", halves.rows, 2 * halves.cols);
    if (!forward) fits(out, "the result", pairs.rows, pairs.cols);
  }
  void attention(std::int64_t head_columns, const Tensor& out) const {
    const bool forward = op_.is(functions::attention);
    const Tensor& qkv = forward ? in_[0] : in_[1];
    whole_sequences(qkv);
    whole_groups(qkv, head_columns);
    const std::int64_t context = qkv.cols / (op_.attributes.group + 2) * op_.attributes.group;
    if (forward) return fits(out, "the result", qkv.rows, context);
    fits(in_[0], "operand 0", qkv.rows, context);
    fits(in_[2], "operand 2", qkv.rows, context);
    fits(out, "the result", qkv.rows, qkv.cols);
  }
  // A block of keys and values of as many groups as QKV has, and so many rows.
  void cache(const Tensor& t, const std::string& which, std::int64_t sequences,
             std::int64_t head_columns) const {
    whole_groups(in_[0], head_columns);
    const std::int64_t groups = in_[0].cols / group_columns(head_columns);
    fits(t, which, sequences * functions::cached_tokens(op_.attributes), groups * 2 * head_columns);
  }
  void keep_keys_and_values(std::int64_t head_columns, const Tensor& out) const {
    whole_sequences(in_[0]);
    cache(out, "the result", in_[0].rows / op_.attributes.sequence, head_columns);
  }
  void attention_to_cache(std::int64_t head_columns, const Tensor& out) const {
    cache(in_.at(1), "operand 1", in_[0].rows, head_columns);
    fits(out, "the result", in_[0].rows,
         in_[0].cols / (op_.attributes.group + 2) * op_.attributes.group);
  }
  void last_of_sequence(const Tensor& out) const {
    whole_sequences(in_[0]);
    fits(out, "the result", in_[0].rows / op_.attributes.sequence, in_[0].cols);
  }
  // Of each sequence as many tokens are there as it has room for at most.
  void length(std::int64_t length, std::int64_t most) const {
    if (length >= 1 && length <= most) return;
    refuse(std::to_string(length) + " tokens of sequences of " + std::to_string(most));
  }

 private:
  const Op& op_;
  const std::vector<Tensor>& in_;
  std::string operation_;
};

}  // namespace

void check_operands(const Device& device, const Op& op, const KernelOperands& operands) {
  const Check check(op, operands);
  if (operands.inputs.size() != op.inputs.size() || op.inputs.empty()) {
    check.refuse("got " + std::to_string(operands.inputs.size()) + " operands, not " +
                 std::to_string(op.inputs.size()));
  }
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!(*device.program)[op.inputs[i]].words()) {
      check.numbers(operands.inputs[i], "operand " + std::to_string(i));
      continue;
    }
    const Tensor& rows =
        op.function->result == ResultShape::looked_up ? operands.output : operands.inputs[0];
    if (static_cast<std::int64_t>(operands.words.size()) != rows.rows) {
      check.refuse("got " + std::to_string(operands.words.size()) + " words for " +
                   std::to_string(rows.rows) + " rows");
    }
  }
  check.numbers(operands.output, "the result");
  if (op.kind == OpKind::gemm) check.gemm(operands.output);
  if (!op.function->products.empty()) {
    check.products(device.head_columns, operands.output);
  } else if (op.is(functions::keep_keys_and_values)) {
    check.keep_keys_and_values(device.head_columns, operands.output);
    check.length(device.length, op.attributes.sequence);
  } else if (op.is(functions::attention_to_cache)) {
    check.attention_to_cache(device.head_columns, operands.output);
    check.length(device.length, op.attributes.sequence);
  } else if (op.is(functions::last_of_sequence)) {
    check.last_of_sequence(operands.output);
    check.length(device.length, op.attributes.sequence);
  } else if (op.function->family == &functions::attention_family) {
    check.attention(device.head_columns, operands.output);
  } else if (op.is(functions::rotary) || op.is(functions::rotary_backward)) {
    check.rotary(device.head_columns, operands.output);
  } else if (op.function->result == ResultShape::gated ||
             op.function->result == ResultShape::gated_from) {
    check.gated(operands.output);
  } else if (op.kind == OpKind::map && op.attributes.sequence > 0) {
    check.softmax(operands.output);
  }
}

void check_operands(const UpdateOperands& operands) {
  const std::int64_t elements = operands.master.size();
  for (const Tensor* t :
       {&operands.gradient, &operands.weight, &operands.first_moment, &operands.second_moment}) {
    if (t->size() != elements || t->precision == Precision::int32) {
      throw std::invalid_argument("kernel update: a shard of " + std::to_string(elements) +
                                  " numbers got an operand of " + std::to_string(t->size()));
    }
  }
  for (const Tensor* t : {&operands.master, &operands.first_moment, &operands.second_moment}) {
    if (t->precision != Precision::fp32) {
      throw std::invalid_argument("kernel update: masters and moments must be fp32");
    }
  }
}

}  // namespace fourfold::inline engine::inline cpu
