// Sharding rules of the operations, and their refusals; see recorder.hpp.
#include "schedule/program/recorder.hpp"

#include <stdexcept>

namespace fourfold {

namespace {

[[noreturn]] void refuse(const std::string& operation, const std::string& why) {
  throw std::invalid_argument(operation + ": " + why);
}

std::string described(const Value& value) {
  const Shape& s = value.shape;
  return value.name + " (" + (s.rows_are_tokens ? "tokens" : std::to_string(s.rows)) + " x " +
         std::to_string(s.cols) + ", " + s.sharding.str() + ")";
}

Shape transposed(const Shape& shape) {
  Shape result = shape;
  std::swap(result.rows, result.cols);
  std::swap(result.sharding.rows, result.sharding.cols);
  return result;
}

// Whether `other` can stand beside `first` in a map: same block, or constant along one direction.
bool lies_as(const Shape& first, const Shape& other) {
  const bool same_rows = other.rows_are_tokens == first.rows_are_tokens &&
                         (first.rows_are_tokens || other.rows == first.rows) &&
                         other.sharding.rows == first.sharding.rows;
  const bool same_cols = other.cols == first.cols && other.sharding.cols == first.sharding.cols;
  const bool no_rows = !other.rows_are_tokens && other.sharding.rows.empty();
  if (other.sharding.pieces != first.sharding.pieces) return false;
  return (same_rows && (same_cols || other.sharding.cols.empty())) || (no_rows && same_cols) ||
         (no_rows && other.rows * other.cols == 1);
}

}  // namespace

void Recorder::begin_section(const std::string& name, std::int64_t micro_batch,
                             std::int64_t layer) {
  program_.sections.push_back(
      {name, micro_batch, layer, static_cast<std::int32_t>(program_.ops.size())});
}

Id Recorder::emit(Op op, Value value) {
  const Id id = static_cast<Id>(program_.values.size());
  program_.values.push_back(std::move(value));
  op.outputs = {id};
  program_.ops.push_back(std::move(op));
  return id;
}

const Value& Recorder::complete(Id id, const char* operation) const {
  const Value& value = program_[id];
  if (!value.shape.sharding.partial.empty()) {
    refuse(operation, "operand not reduced: " + described(value));
  }
  return value;
}

Parameter Recorder::parameter(const std::string& name, const Shape& shape, WeightKind kind) {
  const auto add = [&](const std::string& suffix, Precision precision, Role role,
                       WeightKind kept = WeightKind::none) {
    program_.values.push_back({name + suffix, shape, precision, role, true, {}, kept});
    return static_cast<Id>(program_.values.size() - 1);
  };
  Parameter result;
  result.weight = add("", storage_, Role::parameter, kind);
  if (state_ == OptimizerState::none) return result;
  result.master = storage_ == Precision::fp32
                      ? result.weight
                      : add(".master", Precision::fp32, Role::optimizer, kind);
  result.first_moment = add(".m", Precision::fp32, Role::optimizer);
  result.second_moment = add(".v", Precision::fp32, Role::optimizer);
  return result;
}

Id Recorder::data(const std::string& name, const Shape& shape, Precision precision) {
  program_.values.push_back({name, shape, precision, Role::activation, true, {}});
  return static_cast<Id>(program_.values.size() - 1);
}

Id Recorder::gemm(GemmForm form, Id a, Id b, const Result& result) {
  const Value& left = complete(a, "gemm");
  const Value& right = complete(b, "gemm");
  for (const Value* operand : {&left, &right}) {
    if (!operand->shape.sharding.pieces.empty()) {
      refuse("gemm", "operand still in pieces: " + described(*operand));
    }
  }
  const bool tn = form == GemmForm::tn;
  // Tokens are contracted (TN) or are the rows of the result; they are never columns of one.
  const Shape& first = left.shape;
  const Shape inner_left = tn ? first : transposed(first);
  const Shape inner_right = form == GemmForm::nt ? transposed(right.shape) : right.shape;
  if (inner_left.rows != inner_right.rows ||
      (tn && first.rows_are_tokens != right.shape.rows_are_tokens) ||
      inner_left.sharding.rows != inner_right.sharding.rows) {
    refuse("gemm", "contracted extents differ: " + described(left) + " with " + described(right) +
                       " as " + name(form));
  }
  Shape shape;
  shape.rows = inner_left.cols;
  shape.rows_are_tokens = !tn && first.rows_are_tokens;
  shape.cols = inner_right.cols;
  shape.sharding.rows = inner_left.sharding.cols;
  shape.sharding.cols = inner_right.sharding.cols;
  shape.sharding.partial = inner_left.sharding.rows;
  if (shape.sharding.rows.overlaps(shape.sharding.cols) ||
      shape.sharding.rows.overlaps(shape.sharding.partial) ||
      shape.sharding.cols.overlaps(shape.sharding.partial)) {
    refuse("gemm", "one axis cuts two directions: " + described(left) + " with " +
                       described(right) + " as " + name(form));
  }
  // A product that contracts the tokens is the gradient of a weight.
  const Role role = tn ? Role::gradient : Role::activation;
  Op op{OpKind::gemm, result.function, form, {}, {}, false, 0, {a, b}, {}};
  return emit(std::move(op), {result.name, shape, result.precision, role, false, {}});
}

Id Recorder::map(const Result& result, const std::vector<Id>& operands) {
  const std::string operation = std::string("map ") + name(result.function);
  // A change of precision is linear: what is owed stays owed.
  const bool linear = result.function == Function::cast;
  const Value& first = program_[operands.at(0)];
  for (Id operand : operands) {
    const Value& other = linear ? program_[operand] : complete(operand, operation.c_str());
    if (!lies_as(first.shape, other.shape)) {
      refuse(operation,
             "operands lie differently: " + described(first) + " and " + described(other));
    }
  }
  Value value{result.name, first.shape, result.precision, first.role, false, first.members};
  return emit({OpKind::map, result.function, {}, {}, {}, false, 0, operands, {}}, std::move(value));
}

Id Recorder::attention(const Result& result, const std::vector<Id>& operands,
                       std::int64_t sequence) {
  for (Id operand : operands) complete(operand, "attention");
  const bool forward = result.function == Function::forward;
  Shape shape = program_[operands.at(0)].shape;
  if (!shape.rows_are_tokens) refuse("attention", "rows must be tokens");
  shape.cols = forward ? shape.cols / 3 : shape.cols * 3;
  return emit({OpKind::attention, result.function, {}, {}, {}, false, sequence, operands, {}},
              {result.name, shape, result.precision, Role::activation, false, {}});
}

Id Recorder::lookup(const Result& result, Id table_or_gradient, Id tokens, const Shape& table) {
  const Value& source = complete(table_or_gradient, "lookup");
  const Value& ids = complete(tokens, "lookup");
  if (!source.shape.sharding.pieces.empty()) {
    refuse("lookup", "table still in pieces: " + described(source));
  }
  Shape shape;
  Role role = Role::activation;
  shape.cols = table.cols;
  shape.sharding.cols = table.sharding.cols;
  if (result.function == Function::forward) {
    shape.rows_are_tokens = true;
    shape.sharding.rows = ids.shape.sharding.rows;
    shape.sharding.partial = table.sharding.rows;
  } else {
    shape.rows = table.rows;
    shape.sharding.rows = table.sharding.rows;
    shape.sharding.partial = ids.shape.sharding.rows;
    role = Role::gradient;
  }
  return emit(
      {OpKind::lookup, result.function, {}, {}, {}, false, 0, {table_or_gradient, tokens}, {}},
      {result.name, shape, result.precision, role, false, {}});
}

Id Recorder::reduce(const Result& result, const std::vector<Id>& operands, std::int64_t extent) {
  const std::string operation = std::string("reduce ") + name(result.function);
  for (Id operand : operands) complete(operand, operation.c_str());
  const Value& first = program_[operands.at(0)];
  Shape shape;
  Role role = Role::activation;
  switch (result.function) {
    case Function::row_sum:
    case Function::row_squares:
    case Function::row_max:
    case Function::row_exp_and_target:
    case Function::layer_norm_sums:
      shape.rows = first.shape.rows;
      shape.rows_are_tokens = first.shape.rows_are_tokens;
      shape.cols = extent;
      shape.sharding.rows = first.shape.sharding.rows;
      shape.sharding.partial = first.shape.sharding.cols;
      break;
    case Function::col_sum:
    case Function::position_sum:
    case Function::layer_norm_parameters:
      shape.rows = extent;
      shape.cols = first.shape.cols;
      shape.sharding.cols = first.shape.sharding.cols;
      shape.sharding.partial = first.shape.sharding.rows;
      role = Role::gradient;
      break;
    case Function::square_sum:
    case Function::loss_sum:
      shape.rows = shape.cols = 1;
      shape.sharding.partial = cuts(operands[0]);
      break;
    default:
      refuse(operation, "is no reduction");
  }
  if (result.function == Function::row_max) shape.sharding.owed = Owed::max;
  return emit({OpKind::reduce, result.function, {}, {}, {}, false, 0, operands, {}},
              {result.name, shape, result.precision, role, false, {}});
}

Id Recorder::add(const std::string& name, const std::vector<Id>& operands, Precision precision) {
  const Value& first = program_[operands.at(0)];
  for (Id operand : operands) {
    const Value& other = program_[operand];
    if (!(other.shape == first.shape) || other.members.size() != first.members.size() ||
        (first.shape.sharding.owed != Owed::sum && !first.shape.sharding.partial.empty())) {
      refuse("add", "operands lie differently: " + described(first) + " and " + described(other));
    }
  }
  return emit({OpKind::add, Function::none, {}, {}, {}, false, 0, operands, {}},
              {name, first.shape, precision, first.role, false, first.members});
}

namespace {

std::string described(const Value& value, Axis axis) {
  return value.name + " (" + value.shape.sharding.str() + ") along " + name(axis);
}

}  // namespace

Id Recorder::collective(OpKind kind, Id id, Axis axis, Hiding hiding) {
  Value value = program_[id];
  if (kind != OpKind::all_reduce && !value.members.empty()) {
    throw std::invalid_argument(std::string(fourfold::name(kind)) +
                                ": members of a pack keep their "
                                "own pieces: " +
                                described(value, axis));
  }
  value.persistent = false;
  if (kind == OpKind::all_gather) value.role = Role::gathered;
  Sharding& sharding = value.shape.sharding;
  if (kind == OpKind::all_gather) {
    sharding.pieces = sharding.pieces.without(axis);
  } else {
    sharding.partial = sharding.partial.without(axis);
  }
  if (kind == OpKind::reduce_scatter) sharding.pieces = sharding.pieces.with(axis);
  return emit({kind, Function::none, {}, axis, hiding, false, 0, {id}, {}}, std::move(value));
}

Id Recorder::all_gather(Id id, Axis axis, Hiding hiding) {
  const Value& value = program_[id];
  if (!value.shape.sharding.pieces.contains(axis)) {
    throw std::invalid_argument("all_gather: not in pieces: " + described(value, axis));
  }
  return collective(OpKind::all_gather, id, axis, hiding);
}

Id Recorder::reduce_scatter(Id id, Axis axis, Hiding hiding) {
  const Value& value = program_[id];
  if (!value.shape.sharding.partial.contains(axis) || value.shape.sharding.owed != Owed::sum) {
    throw std::invalid_argument("reduce_scatter: no sum owed: " + described(value, axis));
  }
  return collective(OpKind::reduce_scatter, id, axis, hiding);
}

Id Recorder::all_reduce(Id id, Axis axis, Hiding hiding) {
  const Value& value = program_[id];
  if (!value.shape.sharding.partial.contains(axis)) {
    throw std::invalid_argument("all_reduce: nothing owed: " + described(value, axis));
  }
  return collective(OpKind::all_reduce, id, axis, hiding);
}

AxisSet Recorder::cuts(Id id) const {
  const Value& value = program_[id];
  if (value.members.empty()) return value.shape.sharding.cuts();
  const AxisSet first = cuts(value.members.front());
  for (Id member : value.members) {
    if (!(cuts(member) == first)) {
      throw std::invalid_argument("square_sum: members of " + value.name +
                                  " are cut by different axes: " + first.str() + " and " +
                                  cuts(member).str());
    }
  }
  return first;
}

Id Recorder::pack(const std::string& name, const std::vector<Id>& members) {
  const Value& first = program_[members.at(0)];
  for (Id member : members) {
    const Value& other = program_[member];
    if (!(other.shape.sharding.pieces == first.shape.sharding.pieces) ||
        !(other.shape.sharding.partial == first.shape.sharding.partial) ||
        other.precision != first.precision) {
      throw std::invalid_argument("pack: members lie differently: " + first.name + " (" +
                                  first.shape.sharding.str() + ") and " + other.name + " (" +
                                  other.shape.sharding.str() + ")");
    }
  }
  Value value{name, {}, first.precision, first.role, false, members};
  value.shape.sharding.pieces = first.shape.sharding.pieces;
  value.shape.sharding.partial = first.shape.sharding.partial;
  return emit({OpKind::pack, Function::none, {}, {}, {}, false, 0, members, {}}, std::move(value));
}

std::vector<Id> Recorder::unpack(Id packed) {
  Op op{OpKind::unpack, Function::none, {}, {}, {}, false, 0, {packed}, {}};
  const Sharding sharding = program_[packed].shape.sharding;
  const std::vector<Id> members = program_[packed].members;
  for (Id member : members) {
    Value value = program_[member];
    value.shape.sharding.pieces = sharding.pieces;
    value.shape.sharding.partial = sharding.partial;
    op.outputs.push_back(static_cast<Id>(program_.values.size()));
    program_.values.push_back(std::move(value));
  }
  std::vector<Id> outputs = op.outputs;
  program_.ops.push_back(std::move(op));
  return outputs;
}

void Recorder::update(const std::vector<Parameter>& parameters, Id gradient, Id norm_factor) {
  complete(gradient, "update");
  complete(norm_factor, "update");
  const std::vector<Id>& members = program_[gradient].members;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Value& weight = program_[parameters[i].weight];
    const Value& own = program_[members.empty() ? gradient : members.at(i)];
    if (own.shape.rows != weight.shape.rows || own.shape.cols != weight.shape.cols ||
        !(own.shape.sharding.cuts() == weight.shape.sharding.cuts())) {
      throw std::invalid_argument("update: gradient lies differently: " + weight.name + " (" +
                                  weight.shape.sharding.str() + ") and " + own.name + " (" +
                                  own.shape.sharding.str() + ")");
    }
  }
  Op op{OpKind::update, Function::none, {}, {}, {}, false, 0, {gradient, norm_factor}, {}};
  for (const Parameter& p : parameters) {
    op.inputs.insert(op.inputs.end(), {p.master, p.first_moment, p.second_moment});
    if (p.weight != p.master) op.outputs.push_back(p.weight);
    op.outputs.insert(op.outputs.end(), {p.master, p.first_moment, p.second_moment});
  }
  program_.ops.push_back(std::move(op));
}

void Recorder::defer_last() {
  program_.ops.back().deferrable = true;
}

}  // namespace fourfold
