// Sharding rules of collectives, packs and the optimizer update; see recorder.hpp.
#include <stdexcept>

#include "schedule/recorder.hpp"

namespace fourfold {

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
    if (other.precision != first.precision) {
      throw std::invalid_argument("pack: members differ in precision: " + first.name + " (" +
                                  fourfold::name(first.precision) + ") and " + other.name + " (" +
                                  fourfold::name(other.precision) + ")");
    }
    if (!(other.shape.sharding.pieces == first.shape.sharding.pieces) ||
        !(other.shape.sharding.partial == first.shape.sharding.partial)) {
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
