// What a function of the step is, said once: how its result lies, what it costs, and whether it may
// overwrite what it reads. Recording, counting, liveness, checks and printing read these
// descriptions; only kernels stand elsewhere, one a backend. A new function is one more of them,
// wherever it is defined: its identity is its address.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "schedule/program/sharding.hpp"

namespace fourfold::inline schedule::inline program {

// How the result lies.
enum class ResultShape : std::uint8_t {
  as_first,  // as the first operand: a map, element by element
  per_row,   // so many numbers for each row of the first operand: owed along what cuts its columns
  per_column,     // so many for each of its columns: owed along what cuts its rows; a gradient
  single,         // one number: owed along everything that cuts the operand
  own,            // as the function's own rule says
  gated,          // half the columns: pairs of columns in, one out; a map
  gated_from,     // the gradient of that; a map
  looked_up,      // a row of the table for each word: owed along what cuts the table's rows
  looked_up_from  // the table's gradient: owed along what cuts the words
};

// Bytes that pass between memory and compute units.
enum class Traffic : std::uint8_t {
  all,           // every operand is read once and the result written once
  twice_result,  // the rows that are looked up, and the result
  twice_first    // the gradient, and the rows of the table it is added to
};

enum class GemmForm : std::uint8_t { nn, nt, tn };
const char* name(GemmForm form);

// What belongs to one head of one sequence of s tokens, with d columns a head: s x d queries, keys
// or values; s x d columns of tokens x (heads d); or s x s numbers of tokens x (heads s), one for
// each pair of tokens. The queries of a group of heads stand side by side, then the key and the
// value that they share.
enum class HeadPart : std::uint8_t { queries, keys, values, columns, pairs };

// op(a) op(b) for every head of every sequence, by form: one kernel.
struct HeadProduct {
  struct Operand {
    std::size_t number = 0;  // of the operation's
    HeadPart part = HeadPart::columns;
  };
  GemmForm form = GemmForm::nn;
  Operand a, b;
  HeadPart result = HeadPart::columns;
};

// What an operation says to its function beside operands. Each function reads those that it knows.
struct Attributes {
  std::int64_t sequence = 0;  // tokens of a sequence
  std::int64_t group = 1;     // heads of queries that share a head of keys and values
  std::int64_t heads = 0;     // of queries, on all devices
  std::int64_t window = 0;    // tokens that one looks at, itself and those before; 0: all
  bool newest = false;        // a row is the newest token of a sequence; else rows are sequences

  bool operator==(const Attributes&) const = default;
  // Tokens that one of a sequence looks at in the mean.
  double seen() const {
    const auto s = static_cast<double>(sequence), w = static_cast<double>(window);
    if (window == 0 || window >= sequence) return (s + 1) / 2;
    return w - w * (w - 1) / (2 * s);
  }
};

// What an operation computes, by the units that do it. Multiply-add is counted as two.
struct Arithmetic {
  double matrix = 0.0;   // flops of products
  double vector = 0.0;   // all other flops
  double special = 0.0;  // exponentials, roots and their like, one each
};
// Of an operation on its local first operand: rows and columns. Element by element a function is
// bound by its bytes, so most say none.
using CountArithmetic = Arithmetic (*)(double rows, double cols, const Attributes& attributes);

// A shape that follows from the first operand's.
using ShapeRule = Shape (*)(const Shape& first, const Attributes& attributes);

// Functions that reports sum up under one name.
struct Family {
  const char* name;
};

struct Function {
  const char* name;
  ResultShape result = ResultShape::as_first;
  Owed owed = Owed::sum;
  // A sum that is owed may pass through: f(a) + f(b) = f(a + b).
  bool linear = false;
  // The result may take over the memory of an operand that is read for the last time.
  bool in_place = true;
  CountArithmetic arithmetic = nullptr;
  Traffic traffic = Traffic::all;
  // Products of heads that are kernels of their own, one after the other: each reads its parts once
  // and writes one, whatever `traffic` says, and all have equally many flops.
  std::span<const HeadProduct> products{};
  ShapeRule shape = nullptr;       // of the result, if it is the function's own
  ShapeRule parameters = nullptr;  // of an operand that may lie otherwise than the first
  const Family* family = nullptr;
  // The operand that is written in place: one that outlives the step. 0: none.
  std::size_t writes = 0;
  // Operands and results may be whole numbers.
  bool whole_numbers = false;
};

namespace functions {

// Of queries, keys and values together one part; anything else stands alone.
constexpr double part_of(double whole, HeadPart part, double group) {
  if (part == HeadPart::queries) return whole * group / (group + 2);
  return part == HeadPart::keys || part == HeadPart::values ? whole / (group + 2) : whole;
}
constexpr double queries_of(double cols, double group) {
  return part_of(cols, HeadPart::queries, group);
}
// Multiply-add counted as two. Causal attention: of every token with those that it sees, diagonal
// included; backward 5/2 of it, as a kernel does that repeats the scores.
inline Arithmetic attention_forward_work(double rows, double cols, const Attributes& of) {
  return {4.0 * of.seen() * rows * queries_of(cols, static_cast<double>(of.group))};
}
inline Arithmetic attention_backward_work(double rows, double cols, const Attributes& of) {
  return {10.0 * of.seen() * rows * cols};
}
// Products of heads compute what is masked as well: 2 s tokens and columns of queries each.
inline Arithmetic product_of_qkv_work(double rows, double cols, const Attributes& of) {
  return {2.0 * static_cast<double>(of.sequence) * rows *
          queries_of(cols, static_cast<double>(of.group))};
}
inline Arithmetic product_of_gradient_work(double rows, double cols, const Attributes& of) {
  return {2.0 * static_cast<double>(of.sequence) * rows * cols};
}
inline Arithmetic three_products_of_gradient_work(double rows, double cols, const Attributes& of) {
  return {6.0 * static_cast<double>(of.sequence) * rows * cols};
}
// Queries, keys and values in, as many columns out as the queries have; the gradient of that; and
// for each head one number for each token of its sequence.
inline Shape context_of_qkv(const Shape& qkv, const Attributes& of) {
  Shape shape = qkv;
  shape.cols = shape.cols * of.group / (of.group + 2);
  return shape;
}
inline Shape qkv_of_context(const Shape& gradient, const Attributes& of) {
  Shape shape = gradient;
  shape.cols = shape.cols * (of.group + 2) / of.group;
  return shape;
}
inline Shape pairs_of_heads(const Shape& first, const Attributes& of) {
  Shape shape = first;
  shape.cols = of.heads * of.sequence;
  return shape;
}

// Where an operation's kind says it all: products, sums, packs, collectives.
inline constexpr Function none{""};
// A product whose factors have a scale for each 32 elements.
inline constexpr Function mx_product{"mx"};

// Maps.
inline constexpr Function layer_norm{"layer_norm"};
inline constexpr Function layer_norm_backward{"layer_norm_backward"};
inline constexpr Function rms_norm{"rms_norm"};
inline constexpr Function rms_norm_backward{"rms_norm_backward"};
inline constexpr Function bias{"bias"};
// The bias is the last operand, if there is one.
inline constexpr Function bias_gelu{"bias_gelu"};
inline constexpr Function gelu_backward{"gelu_backward"};
// Of columns 2i and 2i + 1, a and b: a logistic(a) b; and their gradients, of its gradient and of
// them.
inline constexpr Function swiglu{.name = "swiglu", .result = ResultShape::gated, .in_place = false};
inline constexpr Function swiglu_backward{
    .name = "swiglu_backward", .result = ResultShape::gated_from, .in_place = false};
// Queries and keys turned by the angles of their positions, and back: its own gradient. Values
// stay.
inline constexpr Function rotary{"rotary"};
inline constexpr Function rotary_backward{"rotary_backward"};
inline constexpr Function bias_residual{"bias_residual"};
inline constexpr Function add_position{"add_position"};
inline constexpr Function softmax_loss{"softmax_loss"};
inline constexpr Function softmax_backward{"softmax_backward"};
// Elements change their width, so that both buffers are needed.
inline constexpr Function cast{.name = "cast", .linear = true, .in_place = false};
// The same to 8 bits: with a scale that is known before, one that is found first, or one for each
// 32 elements along rows and columns.
inline constexpr Function cast_delayed{.name = "cast_delayed", .in_place = false};
inline constexpr Function cast_current{.name = "cast_current", .in_place = false};
inline constexpr Function cast_mx{.name = "cast_mx", .in_place = false};
inline constexpr Function norm_factor{"norm_factor"};

// Reductions.
inline constexpr Function row_sum{"row_sum", ResultShape::per_row};
// About the mean, if its sum is there.
inline constexpr Function row_squares{"row_squares", ResultShape::per_row};
inline constexpr Function row_max{"row_max", ResultShape::per_row, Owed::max};
inline constexpr Function row_exp_and_target{"row_exp_and_target", ResultShape::per_row};
inline constexpr Function layer_norm_sums{"layer_norm_sums", ResultShape::per_row};
inline constexpr Function layer_norm_parameters{"layer_norm_parameters", ResultShape::per_column};
inline constexpr Function rms_norm_sums{"rms_norm_sums", ResultShape::per_row};
inline constexpr Function rms_norm_parameters{"rms_norm_parameters", ResultShape::per_column};
inline constexpr Function col_sum{"col_sum", ResultShape::per_column};
inline constexpr Function position_sum{"position_sum", ResultShape::per_column};
inline constexpr Function square_sum{"square_sum", ResultShape::single};
inline constexpr Function loss_sum{"loss_sum", ResultShape::single};

// Attention: local, as rows are cut by whole sequences and columns by whole heads. Fused, in one
// kernel that holds no more than a block of scores at a time; its backward repeats them.
inline constexpr Family attention_family{"attention"};
inline constexpr Function attention{.name = "forward",
                                    .result = ResultShape::own,
                                    .arithmetic = attention_forward_work,
                                    .shape = context_of_qkv,
                                    .family = &attention_family};
inline constexpr Function attention_backward{.name = "backward",
                                             .result = ResultShape::own,
                                             .arithmetic = attention_backward_work,
                                             .shape = qkv_of_context,
                                             .family = &attention_family};

// Attention unfused: scores = Q K^T, probabilities = softmax of what the mask leaves, context = P
// V, each through memory. The softmax scales and masks as one kernel.
inline constexpr HeadProduct score_products[]{
    {GemmForm::nt, {0, HeadPart::queries}, {0, HeadPart::keys}, HeadPart::pairs}};
inline constexpr Function scores{.name = "scores",
                                 .result = ResultShape::own,
                                 .arithmetic = product_of_qkv_work,
                                 .products = score_products,
                                 .shape = pairs_of_heads,
                                 .family = &attention_family};
inline constexpr Function causal_softmax{"causal_softmax"};
inline constexpr HeadProduct context_products[]{
    {GemmForm::nn, {1, HeadPart::pairs}, {0, HeadPart::values}, HeadPart::columns}};
inline constexpr Function context{.name = "context",
                                  .result = ResultShape::own,
                                  .arithmetic = product_of_qkv_work,
                                  .products = context_products,
                                  .shape = context_of_qkv,
                                  .family = &attention_family};
// The probabilities' gradient, of the context's and of QKV.
inline constexpr HeadProduct context_backward_products[]{
    {GemmForm::nt, {0, HeadPart::columns}, {1, HeadPart::values}, HeadPart::pairs}};
inline constexpr Function context_backward{.name = "context_backward",
                                           .result = ResultShape::own,
                                           .arithmetic = product_of_gradient_work,
                                           .products = context_backward_products,
                                           .shape = pairs_of_heads,
                                           .family = &attention_family};
// The scores' gradient, of the probabilities' and of the probabilities.
inline constexpr Function causal_softmax_backward{"causal_softmax_backward"};
// QKV's gradient, of the context's, of QKV, of the probabilities and of the scores' gradient.
inline constexpr HeadProduct qkv_products[]{
    {GemmForm::nn, {3, HeadPart::pairs}, {1, HeadPart::keys}, HeadPart::queries},
    {GemmForm::tn, {3, HeadPart::pairs}, {1, HeadPart::queries}, HeadPart::keys},
    {GemmForm::tn, {2, HeadPart::pairs}, {0, HeadPart::columns}, HeadPart::values}};
inline constexpr Function qkv_backward{.name = "qkv_backward",
                                       .result = ResultShape::own,
                                       .arithmetic = three_products_of_gradient_work,
                                       .products = qkv_products,
                                       .shape = qkv_of_context,
                                       .family = &attention_family};

// Keys and values of the tokens that later ones look back at: kept of those that are read, and
// attended to by the next token of each sequence, whose own join them. A sequence has as many rows
// as tokens are looked at; token t is in row t modulo their number. Its columns are those of QKV
// without the queries: of each group of heads the key, then the value.
inline std::int64_t cached_tokens(const Attributes& of) {
  return of.window == 0 ? of.sequence : std::min(of.window, of.sequence);
}
inline Shape keys_and_values(const Shape& qkv, const Attributes& of) {
  Shape shape = qkv;
  shape.cols = shape.cols * 2 / (of.group + 2);
  return shape;
}
inline Shape cache_of_tokens(const Shape& qkv, const Attributes& of) {
  Shape shape = keys_and_values(qkv, of);
  shape.rows = shape.rows * cached_tokens(of) / of.sequence;
  return shape;
}
inline Shape cache_of_sequences(const Shape& qkv, const Attributes& of) {
  Shape shape = keys_and_values(qkv, of);
  shape.rows = shape.rows * cached_tokens(of);
  return shape;
}
inline Arithmetic attention_to_cache_work(double rows, double cols, const Attributes& of) {
  return {4.0 * static_cast<double>(cached_tokens(of)) * rows *
          queries_of(cols, static_cast<double>(of.group))};
}
inline constexpr Function keep_keys_and_values{.name = "keep_keys_and_values",
                                               .result = ResultShape::own,
                                               .traffic = Traffic::twice_result,
                                               .shape = cache_of_tokens};
inline constexpr Function attention_to_cache{.name = "to_cache",
                                             .result = ResultShape::own,
                                             .arithmetic = attention_to_cache_work,
                                             .shape = context_of_qkv,
                                             .parameters = cache_of_sequences,
                                             .family = &attention_family,
                                             .writes = 1};
// The last token of each sequence.
inline Shape last_tokens(const Shape& tokens, const Attributes& of) {
  Shape shape = tokens;
  shape.rows = shape.rows / of.sequence;
  return shape;
}
inline constexpr Function last_of_sequence{.name = "last_of_sequence",
                                           .result = ResultShape::own,
                                           .traffic = Traffic::twice_result,
                                           .shape = last_tokens};

// RMS norms of queries and keys in QKV; values stay. Over all heads, a row's squares of queries and
// of keys are owed along what cuts the heads, and each column has a scale: of a group those of its
// queries, then of its key. By head, all heads of queries have the same scales, and all of keys.
inline Shape scales_of_all(const Shape& qkv, const Attributes& of) {
  return {
      1, qkv.cols / (of.group + 2) * (of.group + 1), {{}, qkv.sharding.cols, {}, {}, Owed::sum}};
}
inline Shape scales_of_heads(const Shape& qkv, const Attributes& of) {
  return {1, qkv.cols * (2 * of.group) / (of.heads * (of.group + 2)), {}};
}
inline Shape gradient_of_all(const Shape& qkv, const Attributes& of) {
  Shape shape = scales_of_all(qkv, of);
  shape.sharding.partial = qkv.sharding.rows.set();
  return shape;
}
inline Shape gradient_of_heads(const Shape& qkv, const Attributes& of) {
  Shape shape = scales_of_heads(qkv, of);
  shape.sharding.partial = qkv.sharding.rows.set().united(qkv.sharding.cols.set());
  return shape;
}
inline constexpr Function qk_squares{"qk_squares", ResultShape::per_row};
inline constexpr Function qk_norm{
    .name = "qk_norm", .in_place = false, .parameters = scales_of_all};
inline constexpr Function qk_norm_sums{"qk_norm_sums", ResultShape::per_row};
inline constexpr Function qk_norm_parameters{
    .name = "qk_norm_parameters", .result = ResultShape::own, .shape = gradient_of_all};
inline constexpr Function qk_norm_backward{
    .name = "qk_norm_backward", .in_place = false, .parameters = scales_of_all};
inline constexpr Function head_norm{
    .name = "head_norm", .in_place = false, .parameters = scales_of_heads};
inline constexpr Function head_norm_parameters{
    .name = "head_norm_parameters", .result = ResultShape::own, .shape = gradient_of_heads};
inline constexpr Function head_norm_backward{
    .name = "head_norm_backward", .in_place = false, .parameters = scales_of_heads};

// Lookups in a table whose rows are cut.
inline constexpr Function lookup{
    .name = "forward", .result = ResultShape::looked_up, .traffic = Traffic::twice_result};
inline constexpr Function lookup_backward{
    .name = "backward", .result = ResultShape::looked_up_from, .traffic = Traffic::twice_first};

// All families, in the order of reports.
inline constexpr const Family* families[]{&attention_family};
inline constexpr std::size_t family_count = std::size(families);
// Where a function's stands among them; family_count: nowhere.
constexpr std::size_t family_number(const Function& function) {
  std::size_t number = 0;
  while (number < family_count && families[number] != function.family) ++number;
  return number;
}

}  // namespace functions

}  // namespace fourfold::inline schedule::inline program
