// Names of the program's parts and the local size of its values; see program.hpp.
#include "schedule/program/program.hpp"

namespace fourfold::inline schedule::inline program {

const char* name(Precision precision) {
  constexpr const char* names[]{"bf16", "fp32", "int32", "fp8"};
  return names[static_cast<int>(precision)];
}

const char* name(ProductPrecision products) {
  constexpr const char* names[]{"stored", "fp8-delayed", "fp8-current", "mxfp8"};
  return names[static_cast<int>(products)];
}

const char* name(Recompute recompute) {
  constexpr const char* names[]{"none", "full", "selective", "mlp", "norms"};
  return names[static_cast<int>(recompute)];
}

const char* name(AttentionKernel kernel) {
  return kernel == AttentionKernel::unfused ? "unfused" : "fused";
}

const char* name(WeightGather gather) {
  if (gather == WeightGather::per_pass) return "per-pass";
  return gather == WeightGather::keep ? "keep" : "per-micro-batch";
}

const char* name(GradientReduction reduction) {
  return reduction == GradientReduction::accumulated ? "accumulated" : "per-micro-batch";
}

const char* name(DataReduction reduction) {
  return reduction == DataReduction::beside_backward ? "beside-backward" : "after-backward";
}

const char* name(Role role) {
  constexpr const char* names[]{"parameters",  "optimizer state",  "gradients",
                                "activations", "gathered weights", "key-value cache"};
  return names[static_cast<int>(role)];
}

const char* name(OpKind kind) {
  if (is_collective(kind)) return row_of(collective_of(kind)).word;
  constexpr const char* names[]{"gemm",   "apply",  "lookup",  "map",       "reduce", "add",
                                "pack",   "unpack", "cut",     nullptr,     nullptr,  nullptr,
                                nullptr,  nullptr,  nullptr,   nullptr,     "send",   "receive",
                                "update", "choose", "to_host", "to_device", "view"};
  return names[static_cast<int>(kind)];
}

const char* name(GemmForm form) {
  constexpr const char* names[]{"NN", "NT", "TN"};
  return names[static_cast<int>(form)];
}

std::string Label::full() const {
  if (owner.empty()) return name;
  return owner + (layer < 0 ? "" : std::to_string(layer)) + "." + name;
}

std::string Label::alike() const {
  return owner.empty() ? name : owner + "." + name;
}

std::span<const Id> Op::buffers() const {
  if (kind == OpKind::all_to_all_v) return std::span(inputs).first(1);
  const Portion brings = row_of(collective_of(kind)).brings;
  const bool of_result = brings == Portion::part || brings == Portion::edges;
  return of_result || kind == OpKind::receive ? outputs : inputs;
}

// The inverse of Recorder::update. A weight that is its own master stands among the outputs once.
std::vector<Parameter> Op::updated() const {
  const std::size_t count = (inputs.size() - 2) / 3;
  const std::size_t written = outputs.size() - (bucket == -1 ? 0 : 1);
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < count; ++i) {
    const auto state = inputs.begin() + 2 + static_cast<std::ptrdiff_t>(3 * i);
    parameters.push_back({outputs[i * (written / count)], state[0], state[1], state[2]});
  }
  return parameters;
}

std::int64_t Program::micro_batch_of(std::int32_t op) const {
  std::int64_t micro_batch = -1;
  for (const Section& section : sections) {
    if (section.first_op <= op) micro_batch = section.micro_batch;
  }
  return micro_batch;
}

std::int64_t Program::local_elements(Id id, const ProcessGrid& grid,
                                     const Quantities& quantities) const {
  const Value& value = (*this)[id];
  if (value.members.empty()) return value.shape.local_elements(grid, quantities);
  std::int64_t sum = 0;
  for (Id member : value.members) sum += local_elements(member, grid, quantities);
  return sum;
}

}  // namespace fourfold::inline schedule::inline program
