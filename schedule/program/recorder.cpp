// Sharding rules of the operations; see recorder.hpp. It is long because every rule stands beside
// its refusals.
#include "schedule/program/recorder.hpp"

#include <algorithm>
#include <stdexcept>

namespace fourfold::inline schedule::inline program {

namespace {

[[noreturn]] void refuse(const std::string& operation, const std::string& why) {
  throw std::invalid_argument(operation + ": " + why);
}

std::string described(const Value& value) {
  const Shape& s = value.shape;
  return value.label.full() + " (" + s.rows.str() + " x " + s.cols.str() + ", " + s.sharding.str() +
         ")";
}

std::string described(const Value& value, Axis axis) {
  return value.label.full() + " (" + value.shape.sharding.str() + ") along " + name(axis);
}

Shape transposed(const Shape& shape) {
  Shape result = shape;
  std::swap(result.rows, result.cols);
  std::swap(result.sharding.rows, result.sharding.cols);
  return result;
}

// Whether `other` can stand beside `first` in a map: same block, or constant along one direction.
bool lies_as(const Shape& first, const Shape& other) {
  const bool same_rows = other.rows == first.rows && other.sharding.rows == first.sharding.rows;
  const bool same_cols = other.cols == first.cols && other.sharding.cols == first.sharding.cols;
  const bool no_rows = other.rows.constant() && other.sharding.rows.empty();
  const bool one = other.rows == Extent(1) && other.cols == Extent(1);
  if (other.sharding.pieces != first.sharding.pieces) return false;
  return (same_rows && (same_cols || other.sharding.cols.empty())) || (no_rows && same_cols) ||
         (no_rows && one);
}

// Which direction's cuts a gather or a reduce-scatter acts on.
Cuts& cuts_of(Sharding& sharding, Direction direction) {
  if (direction == Direction::cols) return sharding.cols;
  return direction == Direction::rows ? sharding.rows : sharding.pieces;
}

}  // namespace

ChannelNumber Recorder::declare(const Channel& channel) {
  std::vector<Channel>& channels = program_.channels;
  const auto found = std::find(channels.begin(), channels.end(), channel);
  if (found == channels.end()) channels.push_back(channel);
  return static_cast<ChannelNumber>(std::find(channels.begin(), channels.end(), channel) -
                                    channels.begin());
}

ChannelNumber Recorder::channel_of(OpKind kind, Axis axis) {
  const Channel own{axis, kind == OpKind::all_gather ? "gather" : "reduce"};
  const std::vector<Channel>& channels = program_.channels;
  const auto found = std::find(channels.begin(), channels.end(), own);
  if (found != channels.end()) return static_cast<ChannelNumber>(found - channels.begin());
  return declare(axis, "");
}

void Recorder::begin_turn(const Turn& turn) {
  program_.order.turns.push_back(turn);
}

void Recorder::begin_section(const std::string& name, std::int64_t layer) {
  if (program_.order.turns.empty()) program_.order.turns.emplace_back();
  program_.sections.push_back({name, program_.order.turns.back().micro_batch, layer,
                               static_cast<std::int32_t>(program_.ops.size()),
                               static_cast<std::int64_t>(program_.order.turns.size()) - 1});
}

Id Recorder::emit(Op op, Value value) {
  for (Id input : op.inputs) {
    if (!program_[input].on_host || op.kind == OpKind::to_device) continue;
    refuse(name(op.kind), "operand on the host: " + described(program_[input]));
  }
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

Parameter Recorder::parameter(const Label& label, const Shape& shape, WeightKind kind,
                              const Shape& state) {
  const auto add = [&](const std::string& suffix, const Shape& lies, Precision precision, Role role,
                       WeightKind kept = WeightKind::none) {
    program_.values.push_back({label + suffix, lies, precision, role, true, {}, kept});
    program_.values.back().on_host = role == Role::optimizer && offload_bucket_ > 0;
    return static_cast<Id>(program_.values.size() - 1);
  };
  Parameter result;
  result.weight = add("", shape, storage_, Role::parameter, kind);
  if (state_ != OptimizerState::none) {
    result.master = storage_ == Precision::fp32 && state == shape
                        ? result.weight
                        : add(".master", state, Precision::fp32, Role::optimizer, kind);
    result.first_moment = add(".m", state, Precision::fp32, Role::optimizer);
    result.second_moment = add(".v", state, Precision::fp32, Role::optimizer);
  }
  program_.parameters.push_back(result);
  return result;
}

Id Recorder::data(const Label& label, const Shape& shape, Precision precision, Role role) {
  program_.values.push_back({label, shape, precision, role, true, {}});
  return static_cast<Id>(program_.values.size() - 1);
}

Id Recorder::gemm(GemmForm form, Id a, Id b, const Result& result) {
  const Value& left = complete(a, "gemm");
  const Value& right = complete(b, "gemm");
  for (const Value* operand : {&left, &right}) {
    if (operand->shape.flat()) refuse("gemm", "operand still in pieces: " + described(*operand));
  }
  const bool tn = form == GemmForm::tn;
  // Tokens are contracted (TN) or are the rows of the result; they are never columns of one.
  const Shape& first = left.shape;
  const Shape inner_left = tn ? first : transposed(first);
  const Shape inner_right = form == GemmForm::nt ? transposed(right.shape) : right.shape;
  if (inner_left.rows != inner_right.rows ||
      inner_left.sharding.rows != inner_right.sharding.rows) {
    refuse("gemm", "contracted extents differ: " + described(left) + " with " + described(right) +
                       " as " + name(form));
  }
  Shape shape;
  shape.rows = inner_left.cols;
  shape.cols = inner_right.cols;
  shape.sharding.rows = inner_left.sharding.cols;
  shape.sharding.cols = inner_right.sharding.cols;
  shape.sharding.partial = inner_left.sharding.rows.set();
  const AxisSet rows = shape.sharding.rows.set();
  const AxisSet cols = shape.sharding.cols.set();
  if (rows.overlaps(cols) || rows.overlaps(shape.sharding.partial) ||
      cols.overlaps(shape.sharding.partial)) {
    refuse("gemm", "one axis cuts two directions: " + described(left) + " with " +
                       described(right) + " as " + name(form));
  }
  // A product that contracts the tokens is the gradient of a weight.
  const Role role = tn ? Role::gradient : Role::activation;
  Op op{.kind = OpKind::gemm, .function = &result.function, .form = form, .inputs = {a, b}};
  return emit(std::move(op), {result.label, shape, result.precision, role, false, {}});
}

Id Recorder::map(const Result& result, const std::vector<Id>& operands) {
  const std::string operation = std::string("map ") + result.function.name;
  const Value& first = program_[operands.at(0)];
  Shape shape = first.shape;
  switch (result.function.result) {
    case ResultShape::as_first:
      break;
    case ResultShape::gated:
      shape.cols = shape.cols / 2;
      break;
    case ResultShape::gated_from:
      shape.cols = shape.cols * 2;
      break;
    default:
      refuse(operation, "is no map");
  }
  for (Id operand : operands) {
    const Value& other =
        result.function.linear ? program_[operand] : complete(operand, operation.c_str());
    const ShapeRule parameters = result.function.parameters;
    const bool beside =
        parameters != nullptr && other.shape == parameters(first.shape, result.attributes);
    if (!beside && !lies_as(first.shape, other.shape) && !lies_as(shape, other.shape)) {
      refuse(operation,
             "operands lie differently: " + described(first) + " and " + described(other));
    }
  }
  Value value{result.label, shape, result.precision, first.role, false, first.members};
  return emit({.kind = OpKind::map,
               .function = &result.function,
               .attributes = result.attributes,
               .inputs = operands},
              std::move(value));
}

Id Recorder::apply(const Result& result, const std::vector<Id>& operands) {
  const Family* const family = result.function.family;
  const std::string operation =
      family == nullptr ? std::string("apply ") + result.function.name : family->name;
  if (result.function.shape == nullptr) refuse(operation, "has no rule for its result's shape");
  const Value& first = complete(operands.at(0), operation.c_str());
  if (result.attributes.sequence > 0 && first.shape.rows.constant()) {
    refuse(operation, "rows must be tokens");
  }
  for (Id operand : operands) {
    const Value& other = complete(operand, operation.c_str());
    const ShapeRule parameters = result.function.parameters;
    if (parameters != nullptr && other.shape == parameters(first.shape, result.attributes)) {
      continue;
    }
    if (other.shape.rows != first.shape.rows || !(other.shape.sharding == first.shape.sharding)) {
      refuse(operation,
             "operands lie differently: " + described(first) + " and " + described(other));
    }
  }
  if (const std::size_t written = result.function.writes; written > 0) {
    const Value& kept = program_[operands.at(written)];
    if (!kept.persistent) {
      refuse(operation, "would write to what does not outlive the step: " + described(kept));
    }
  }
  const Shape shape = result.function.shape(first.shape, result.attributes);
  return emit({.kind = OpKind::apply,
               .function = &result.function,
               .attributes = result.attributes,
               .inputs = operands},
              {result.label, shape, result.precision, result.role, false, {}});
}

Id Recorder::lookup(const Result& result, Id table_or_gradient, Id tokens, const Shape& table) {
  const Value& source = complete(table_or_gradient, "lookup");
  const Value& ids = complete(tokens, "lookup");
  if (source.shape.flat()) refuse("lookup", "table still in pieces: " + described(source));
  Shape shape;
  Role role = Role::activation;
  shape.cols = table.cols;
  shape.sharding.cols = table.sharding.cols;
  if (result.function.result == ResultShape::looked_up) {
    shape.rows = ids.shape.rows;
    shape.sharding.rows = ids.shape.sharding.rows;
    shape.sharding.partial = table.sharding.rows.set();
  } else if (result.function.result == ResultShape::looked_up_from) {
    shape.rows = table.rows;
    shape.sharding.rows = table.sharding.rows;
    shape.sharding.partial = ids.shape.sharding.rows.set();
    role = Role::gradient;
  } else {
    refuse("lookup", std::string(result.function.name) + " is no lookup");
  }
  return emit(
      {.kind = OpKind::lookup, .function = &result.function, .inputs = {table_or_gradient, tokens}},
      {result.label, shape, result.precision, role, false, {}});
}

Id Recorder::reduce(const Result& result, const std::vector<Id>& operands, std::int64_t extent) {
  const std::string operation = std::string("reduce ") + result.function.name;
  for (Id operand : operands) complete(operand, operation.c_str());
  const Value& first = program_[operands.at(0)];
  Shape shape;
  Role role = Role::activation;
  switch (result.function.result) {
    case ResultShape::per_row:
      shape.rows = first.shape.rows;
      shape.cols = extent;
      shape.sharding.rows = first.shape.sharding.rows;
      shape.sharding.partial = first.shape.sharding.cols.set();
      break;
    case ResultShape::per_column:
      shape.rows = extent;
      shape.cols = first.shape.cols;
      shape.sharding.cols = first.shape.sharding.cols;
      shape.sharding.partial = first.shape.sharding.rows.set();
      role = Role::gradient;
      break;
    case ResultShape::single:
      shape.rows = shape.cols = 1;
      shape.sharding.partial = cuts(operands[0]);
      break;
    case ResultShape::own:
      shape = result.function.shape(first.shape, result.attributes);
      role = Role::gradient;
      break;
    default:
      refuse(operation, "is no reduction");
  }
  shape.sharding.owed = result.function.owed;
  return emit({.kind = OpKind::reduce,
               .function = &result.function,
               .attributes = result.attributes,
               .inputs = operands},
              {result.label, shape, result.precision, role, false, {}});
}

Id Recorder::add(const Label& label, const std::vector<Id>& operands, Precision precision) {
  const Value& first = program_[operands.at(0)];
  for (Id operand : operands) {
    const Value& other = program_[operand];
    if (!(other.shape == first.shape) || other.members.size() != first.members.size() ||
        (first.shape.sharding.owed != Owed::sum && !first.shape.sharding.partial.empty())) {
      refuse("add", "operands lie differently: " + described(first) + " and " + described(other));
    }
  }
  return emit({.kind = OpKind::add, .inputs = operands},
              {label, first.shape, precision, first.role, false, first.members});
}

Id Recorder::collective(Op op, Value value) {
  if (op.channel == -1) op.channel = channel_of(op.kind, op.axis);
  value.persistent = false;
  return emit(std::move(op), std::move(value));
}

Id Recorder::all_gather(Id id, Axis axis, Hiding hiding, Direction direction) {
  Value value = program_[id];
  Cuts& cuts = cuts_of(value.shape.sharding, direction);
  const char* what = direction == Direction::rows ? "rows" : "pieces";
  if (!cuts.contains(axis)) {
    refuse("all_gather", std::string("not in ") + what + ": " + described(value, axis));
  }
  if (!cuts.innermost_is(axis)) {
    refuse("all_gather", std::string("only the innermost axis of ") + what +
                             " can be gathered: " + described(value, axis));
  }
  if (!value.members.empty()) {
    refuse("all_gather", "members of a pack keep their own pieces: " + described(value, axis));
  }
  if (direction == Direction::rows && value.shape.flat()) {
    refuse("all_gather", "rows of flat pieces cannot be gathered: " + described(value, axis));
  }
  cuts = cuts.without_innermost();
  const bool weight = value.role == Role::parameter || value.role == Role::gathered;
  if (direction == Direction::pieces && weight) value.role = Role::gathered;
  return collective({.kind = OpKind::all_gather,
                     .axis = axis,
                     .direction = direction,
                     .hiding = hiding,
                     .inputs = {id}},
                    std::move(value));
}

Value Recorder::scattered(Id id, Axis axis, Direction direction) const {
  Value value = program_[id];
  Sharding& sharding = value.shape.sharding;
  if (!sharding.partial.contains(axis) || sharding.owed != Owed::sum) {
    refuse("reduce_scatter", "no sum owed: " + described(value, axis));
  }
  if (!value.members.empty()) {
    refuse("reduce_scatter", "members of a pack keep their own pieces: " + described(value, axis));
  }
  if (direction == Direction::rows && value.shape.flat()) {
    refuse("reduce_scatter", "flat pieces have no rows to keep: " + described(value, axis));
  }
  sharding.partial = sharding.partial.without(axis);
  Cuts& cuts = cuts_of(sharding, direction);
  cuts = cuts.with(axis);
  value.persistent = false;
  return value;
}

Id Recorder::reduce_scatter(Id id, Axis axis, Hiding hiding, Direction direction) {
  return collective({.kind = OpKind::reduce_scatter,
                     .axis = axis,
                     .direction = direction,
                     .hiding = hiding,
                     .inputs = {id}},
                    scattered(id, axis, direction));
}

std::vector<Id> Recorder::reduce_scatter(const std::vector<Id>& values, Axis axis, Hiding hiding) {
  Op op{.kind = OpKind::reduce_scatter,
        .channel = channel_of(OpKind::reduce_scatter, axis),
        .axis = axis,
        .hiding = hiding,
        .inputs = values};
  for (Id id : values) {
    if (program_[id].precision != program_[values.front()].precision) {
      refuse("reduce_scatter", "values that are sent as one differ in precision: " +
                                   described(program_[values.front()]) + " and " +
                                   described(program_[id]));
    }
    Value value = scattered(id, axis, Direction::pieces);
    op.outputs.push_back(static_cast<Id>(program_.values.size()));
    program_.values.push_back(std::move(value));
  }
  std::vector<Id> pieces = op.outputs;
  program_.ops.push_back(std::move(op));
  return pieces;
}

Id Recorder::all_reduce(Id id, Axis axis, Hiding hiding) {
  return reduced_everywhere(
      {.kind = OpKind::all_reduce, .axis = axis, .hiding = hiding, .inputs = {id}});
}

Id Recorder::all_reduce_ends(Id id, Hiding hiding) {
  return reduced_everywhere({.kind = OpKind::all_reduce,
                             .channel = declare({Axis::pipe, "ends", Group::ends}),
                             .axis = Axis::pipe,
                             .hiding = hiding,
                             .inputs = {id}});
}

Id Recorder::reduced_everywhere(Op op) {
  Value value = program_[op.inputs[0]];
  if (!value.shape.sharding.partial.contains(op.axis)) {
    refuse("all_reduce", "nothing owed: " + described(value, op.axis));
  }
  value.shape.sharding.partial = value.shape.sharding.partial.without(op.axis);
  return collective(std::move(op), std::move(value));
}

Id Recorder::all_to_all(Id id, Axis axis, Direction to, Hiding hiding) {
  return exchange({.kind = OpKind::all_to_all, .axis = axis, .hiding = hiding, .inputs = {id}}, to,
                  1);
}

Id Recorder::all_to_all_v(Id id, Id marks, Id arriving, Axis axis, Direction to, Hiding hiding) {
  const Shape& value = program_[id].shape;
  const Shape own = complete(marks, "all_to_all_v").shape;
  const bool alike = own.rows == value.rows && own.sharding == value.sharding;
  const bool blocks = own.cols.constant() && value.cols.constant() && own.cols.value({}) > 0 &&
                      value.cols.value({}) % own.cols.value({}) == 0;
  if (program_[marks].precision != Precision::int32 || !alike || !blocks) {
    refuse("all_to_all_v",
           "marks must be whole numbers that lie as the value does, for equal "
           "blocks of its columns: " +
               described(program_[marks]) + " of " + described(program_[id]));
  }
  const Id moved = exchange({.kind = OpKind::all_to_all_v,
                             .axis = axis,
                             .hiding = hiding,
                             .inputs = {id, marks, arriving}},
                            to, 2);
  Shape expected = own;
  expected.sharding = program_[moved].shape.sharding;
  if (program_[arriving].precision != Precision::int32 || program_[arriving].shape != expected) {
    refuse("all_to_all_v", "marks that arrive must lie as the result does: " +
                               described(program_[arriving]) + " of " + described(program_[moved]));
  }
  return moved;
}

// With room on the device for so many times the operand.
Id Recorder::exchange(Op op, Direction to, std::int64_t rooms) {
  const Axis axis = op.axis;
  Value value = complete(op.inputs[0], name(op.kind));
  if (to == Direction::pieces || value.shape.flat() || !value.members.empty()) {
    refuse(name(op.kind), "only rows and columns change places: " + described(value, axis));
  }
  Cuts& from =
      cuts_of(value.shape.sharding, to == Direction::rows ? Direction::cols : Direction::rows);
  const std::string direction = to == Direction::rows ? "columns" : "rows";
  if (!from.contains(axis)) {
    refuse(name(op.kind), "not in " + direction + ": " + described(value, axis));
  }
  if (!from.innermost_is(axis)) {
    refuse(name(op.kind),
           "only the innermost axis of " + direction + " can move: " + described(value, axis));
  }
  Value room = value;
  room.label = value.label + ".parts";
  room.persistent = false;
  room.shape.rows = room.shape.rows * rooms;
  from = from.without_innermost();
  Cuts& cuts = cuts_of(value.shape.sharding, to);
  cuts = cuts.with(axis);
  op.channel = declare(axis, "exchange");
  op.direction = to;
  const Id moved = collective(std::move(op), std::move(value));
  Op& recorded = program_.ops.back();
  recorded.bucket = static_cast<Id>(program_.values.size());
  recorded.outputs.push_back(recorded.bucket);
  program_.values.push_back(std::move(room));
  return moved;
}

Id Recorder::neighbour_exchange(Id id, std::int64_t edge, Axis axis, Hiding hiding) {
  Value value = complete(id, "neighbour_exchange");
  const bool by_rows = value.shape.sharding.rows.innermost_is(axis) && !value.shape.flat();
  if (!by_rows || !value.members.empty() || edge < 1) {
    refuse("neighbour_exchange",
           "edges of " + std::to_string(edge) +
               " rows go only along the innermost axis of rows: " + described(value, axis));
  }
  value.label = value.label + ".edges";
  value.shape.rows = Extent::each(2 * edge);
  return collective({.kind = OpKind::neighbour_exchange,
                     .channel = declare(axis, "exchange"),
                     .axis = axis,
                     .hiding = hiding,
                     .inputs = {id}},
                    std::move(value));
}

Id Recorder::broadcast(Id id, Axis axis, Hiding hiding) {
  Value value = complete(id, "broadcast");
  if (value.shape.sharding.cuts().contains(axis)) {
    refuse("broadcast", "each has a part of its own: " + described(value, axis));
  }
  return collective({.kind = OpKind::broadcast, .axis = axis, .hiding = hiding, .inputs = {id}},
                    std::move(value));
}

// All others add nothing to the word of the one that chooses.
void Recorder::choose(const std::vector<Axis>& axes) {
  Shape shape;
  shape.rows = shape.cols = 1;
  for (Axis axis : axes) shape.sharding.partial = shape.sharding.partial.with(axis);
  Id word = emit({.kind = OpKind::choose},
                 {"choice", shape, Precision::fp32, Role::activation, false, {}});
  for (Axis axis : axes) {
    word = reduced_everywhere({.kind = OpKind::all_reduce,
                               .channel = declare(axis, "choice"),
                               .axis = axis,
                               .inputs = {word}});
  }
}

Id Recorder::owe_along_pipe(Id id) {
  AxisSet& partial = program_.values[static_cast<std::size_t>(id)].shape.sharding.partial;
  partial = partial.with(Axis::pipe);
  return id;
}

Id Recorder::cut(Id id, Axis axis) {
  Value value = complete(id, "cut");
  if (value.shape.sharding.cuts().contains(axis)) {
    refuse("cut", "already cut: " + described(value, axis));
  }
  if (!value.members.empty()) {
    refuse("cut", "members of a pack keep their own pieces: " + described(value, axis));
  }
  value.shape.sharding.pieces = value.shape.sharding.pieces.with(axis);
  value.persistent = false;
  return emit({.kind = OpKind::cut, .axis = axis, .inputs = {id}}, std::move(value));
}

Id Recorder::view(Id id, const Sharding& as) {
  Value value = complete(id, "view");
  if (!value.members.empty()) {
    refuse("view", "members of a pack keep their own pieces: " + described(value));
  }
  const Sharding& own = value.shape.sharding;
  if (as.rows.empty() != own.rows.empty() || as.cols.empty() != own.cols.empty() ||
      as.pieces.empty() != own.pieces.empty() || !as.partial.empty()) {
    refuse("view", described(value) + " cannot lie as " + as.str());
  }
  value.shape.sharding = as;
  value.persistent = false;
  return emit({.kind = OpKind::view, .inputs = {id}}, std::move(value));
}

Id Recorder::to_host(Id id) {
  Value value = complete(id, "to_host");
  if (!value.members.empty()) {
    refuse("to_host", "a pack lies where its members do: " + described(value));
  }
  value.label = value.label + ".on_host";
  value.persistent = false;
  value.on_host = true;
  return emit({.kind = OpKind::to_host, .inputs = {id}}, std::move(value));
}

Id Recorder::to_device(Id id) {
  Value value = program_[id];
  if (!value.on_host) refuse("to_device", "not on the host: " + described(value));
  value.label = value.label + ".fetched";
  value.persistent = false;
  value.on_host = false;
  return emit({.kind = OpKind::to_device, .inputs = {id}}, std::move(value));
}

void Recorder::send(Id id, const Channel& channel) {
  complete(id, "send");
  program_.ops.push_back({.kind = OpKind::send,
                          .channel = declare(channel),
                          .axis = channel.axis,
                          .hiding = Hiding::message,
                          .inputs = {id}});
}

Id Recorder::receive(const Label& label, const Shape& shape, const Channel& channel) {
  if (!shape.sharding.partial.empty()) {
    refuse("receive", "a sum is owed: " + label.full() + " (" + shape.sharding.str() + ")");
  }
  return emit({.kind = OpKind::receive,
               .channel = declare(channel),
               .axis = channel.axis,
               .hiding = Hiding::message},
              {label, shape, storage_, Role::activation, false, {}});
}

AxisSet Recorder::cuts(Id id) const {
  const Value& value = program_[id];
  if (value.members.empty()) return value.shape.sharding.cuts();
  const AxisSet first = cuts(value.members.front());
  for (Id member : value.members) {
    if (!(cuts(member) == first)) {
      refuse("square_sum", "members of " + value.label.full() + " are cut by different axes: " +
                               first.str() + " and " + cuts(member).str());
    }
  }
  return first;
}

Id Recorder::pack(const Label& label, const std::vector<Id>& members) {
  const Value& first = program_[members.at(0)];
  for (Id member : members) {
    const Value& other = program_[member];
    if (other.precision != first.precision) {
      refuse("pack", "members differ in precision: " + first.label.full() + " (" +
                         name(first.precision) + ") and " + other.label.full() + " (" +
                         name(other.precision) + ")");
    }
    if (!(other.shape.sharding.pieces == first.shape.sharding.pieces) ||
        !(other.shape.sharding.partial == first.shape.sharding.partial)) {
      refuse("pack", "members lie differently: " + first.label.full() + " (" +
                         first.shape.sharding.str() + ") and " + other.label.full() + " (" +
                         other.shape.sharding.str() + ")");
    }
  }
  Value value{label, {}, first.precision, first.role, false, members};
  value.shape.sharding.pieces = first.shape.sharding.pieces;
  value.shape.sharding.partial = first.shape.sharding.partial;
  return emit({.kind = OpKind::pack, .inputs = members}, std::move(value));
}

std::vector<Id> Recorder::unpack(Id packed) {
  Op op{.kind = OpKind::unpack, .inputs = {packed}};
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

void Recorder::update(const std::vector<Parameter>& parameters, Id gradient, Id norm_factor,
                      Sending of_weights) {
  complete(gradient, "update");
  complete(norm_factor, "update");
  const std::vector<Id>& members = program_[gradient].members;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Value& state = program_[parameters[i].master];
    const Value& own = program_[members.empty() ? gradient : members.at(i)];
    if (own.shape.rows != state.shape.rows || own.shape.cols != state.shape.cols ||
        !(own.shape.sharding.cuts() == state.shape.sharding.cuts())) {
      refuse("update", "gradient lies differently: " + program_[parameters[i].weight].label.full() +
                           " (" + state.shape.sharding.str() + ") and " + own.label.full() + " (" +
                           own.shape.sharding.str() + ")");
    }
  }
  Op op{.kind = OpKind::update, .inputs = {gradient, norm_factor}};
  std::vector<Id> pieces, weights;  // of new weights, and what they are put together to
  for (const Parameter& p : parameters) {
    op.inputs.insert(op.inputs.end(), {p.master, p.first_moment, p.second_moment});
    Id written = p.weight;
    if (program_[p.master].shape.sharding.pieces != program_[p.weight].shape.sharding.pieces) {
      Value piece = program_[p.weight];
      piece.shape = program_[p.master].shape;
      piece.persistent = false;
      written = static_cast<Id>(program_.values.size());
      program_.values.push_back(std::move(piece));
      pieces.push_back(written);
      weights.push_back(p.weight);
    }
    if (written != p.master) op.outputs.push_back(written);
    op.outputs.insert(op.outputs.end(), {p.master, p.first_moment, p.second_moment});
  }
  if (offload_bucket_ > 0) {
    op.bucket = room_for_state(parameters.at(0));
    op.outputs.push_back(op.bucket);
  }
  program_.ops.push_back(std::move(op));
  if (of_weights == Sending::together && !pieces.empty()) return gather_into(pieces, weights);
  for (std::size_t i = 0; i < pieces.size(); ++i) gather_into({pieces[i]}, {weights[i]});
}

// One part for each kind of state that the host keeps.
Id Recorder::room_for_state(const Parameter& parameter) {
  const Id state[] = {parameter.master, parameter.first_moment, parameter.second_moment};
  const auto kinds = std::ranges::count_if(state, [&](Id id) { return program_[id].on_host; });
  Value room;
  room.label = "bucket";
  room.shape.rows = offload_bucket_ * kinds;
  room.shape.cols = 1;
  room.precision = Precision::fp32;
  room.role = Role::optimizer;
  program_.values.push_back(std::move(room));
  return static_cast<Id>(program_.values.size() - 1);
}

// New weights are put together where the old ones lie.
void Recorder::gather_into(const std::vector<Id>& pieces, const std::vector<Id>& weights) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Cuts cuts = program_[pieces[i]].shape.sharding.pieces;
    if (cuts.innermost_is(Axis::data) &&
        cuts.without_innermost() == program_[weights[i]].shape.sharding.pieces) {
      continue;
    }
    refuse("update", "optimizer state must be cut as the weight, and along data: " +
                         described(program_[pieces[i]]));
  }
  program_.ops.push_back({.kind = OpKind::all_gather,
                          .channel = channel_of(OpKind::all_gather, Axis::data),
                          .axis = Axis::data,
                          .hiding = Hiding::data_reduce,
                          .inputs = pieces,
                          .outputs = weights});
}

void Recorder::defer_last() {
  program_.ops.back().deferrable = true;
}

Program Recorder::finish(const std::vector<Steady>& steady, const ReadyQueue& ready) {
  program_.order.steady = steady;
  program_.order.ready = ready;
  return std::move(program_);
}

}  // namespace fourfold::inline schedule::inline program
