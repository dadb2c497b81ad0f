// Reads and assembles what a software says about memory; see software_memory.hpp.
#include "platforms/software_memory.hpp"

#include <algorithm>
#include <string_view>

#include "platforms/file/fact_table.hpp"
#include "schedule/program/function.hpp"
#include "support/nearest_name.hpp"

namespace fourfold::inline platforms {
namespace {

constexpr const char* prefix = "software.memory.";

// What a file may say of a part, and where it goes.
struct Part {
  const char* key;
  void (*set)(SoftwareMemory& memory, double value);
};

const std::vector<Part>& parts() {
  using M = SoftwareMemory;
  static const std::vector<Part> all{
      {"weights", [](M& m, double v) { m.weights = v; }},
      {"gradients", [](M& m, double v) { m.gradients = v; }},
      {"gradients_ahead", [](M& m, double v) { m.gradients_ahead = v > 0.0; }},
      {"optimizer", [](M& m, double v) { m.optimizer = v; }},
      {"gathered_blocks", [](M& m, double v) { m.gathered_blocks = v; }},
      {"gathered_embeddings", [](M& m, double v) { m.gathered_embeddings = v; }},
      {"gathered_bytes", [](M& m, double v) { m.gathered_bytes = v; }},
      {"casts", [](M& m, double v) { m.casts = v; }},
      {"messages_of_step", [](M& m, double v) { m.messages_of_step = v > 0.0; }},
      {"logits_of_step", [](M& m, double v) { m.logits_of_step = v > 0.0; }},
      {"buckets_MiB", [](M& m, double v) { m.buckets = {v}; }},
      {"workspaces_MiB", [](M& m, double v) { m.workspaces = {v}; }},
      {"context_MiB", [](M& m, double v) { m.context = {v}; }},
      {"communicators_MiB", [](M& m, double v) { m.communicators = {v}; }},
      {"reserved", [](M& m, double v) { m.reserved = v; }},
      {"reserved_most", [](M& m, double v) { m.reserved_most = v; }}};
  return all;
}

struct Manner {
  const char* key;
  double FunctionBytes::*bytes;
};
constexpr Manner manners[]{{"keeps", &FunctionBytes::keeps},
                           {"gathers", &FunctionBytes::gathers},
                           {"expands", &FunctionBytes::expands},
                           {"makes", &FunctionBytes::makes}};

// By the names that a software has for their kernels.
struct NamedFunction {
  const char* name;
  const Function* function;
};

const std::vector<NamedFunction>& known_functions() {
  using namespace functions;
  static const std::vector<NamedFunction> all{{"add_position", &add_position},
                                              {"attention", &attention},
                                              {"attention_backward", &attention_backward},
                                              {"bias_gelu", &bias_gelu},
                                              {"bias_residual", &bias_residual},
                                              {"causal_softmax", &causal_softmax},
                                              {"gelu_backward", &gelu_backward},
                                              {"layer_norm", &layer_norm},
                                              {"rms_norm", &rms_norm},
                                              {"rotary", &rotary},
                                              {"row_exp_and_target", &row_exp_and_target},
                                              {"softmax_backward", &softmax_backward},
                                              {"swiglu", &swiglu},
                                              {"swiglu_backward", &swiglu_backward}};
  return all;
}

FunctionBytes& of(const Function* function, SoftwareMemory& memory) {
  for (FunctionBytes& known : memory.functions) {
    if (known.function == function) return known;
  }
  memory.functions.push_back({function});
  return memory.functions.back();
}

void set(SoftwareMemory& memory, std::string_view key, double value) {
  for (const Part& part : parts()) {
    if (key == part.key) return part.set(memory, value * unit_of(part.key));
  }
  const std::size_t dot = key.find('.');
  for (const Manner& manner : manners) {
    if (key.substr(0, dot) != manner.key) continue;
    for (const auto& [name, function] : known_functions()) {
      if (key.substr(dot + 1) == name) of(function, memory).*manner.bytes = value;
    }
  }
}

void refuse_unknown(const FactTable& table, const std::vector<std::string>& known) {
  for (const std::string& key : table.keys()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    table.refuse(key, "is not known" + did_you_mean(key, known));
  }
}

}  // namespace

void read_software_memory(const FactTable& memory) {
  std::vector<std::string> known, functions;
  for (const NamedFunction& one : known_functions()) functions.emplace_back(one.name);
  for (const Part& part : parts()) known.emplace_back(part.key);
  for (const Manner& manner : manners) known.emplace_back(manner.key);
  refuse_unknown(memory, known);
  for (const Part& part : parts()) {
    if (memory.has(part.key)) memory.number(part.key, Range::non_negative);
  }
  for (const Manner& manner : manners) {
    if (!memory.has(manner.key)) continue;
    const FactTable table = memory.section(manner.key);
    refuse_unknown(table, functions);
    for (const std::string& key : table.keys()) table.number(key, Range::non_negative);
  }
}

void forget_software_memory(std::vector<Fact>& facts) {
  std::erase_if(facts, [](const Fact& fact) { return fact.key.starts_with(prefix); });
}

std::vector<Fact> memory_facts(const std::string& software) {
  FactSheet sheet;
  read_software(software, sheet);
  std::erase_if(sheet.facts, [](const Fact& fact) { return !fact.key.starts_with(prefix); });
  for (Fact& fact : sheet.facts) fact.key.erase(0, std::string_view(prefix).size());
  return std::move(sheet.facts);
}

// The software is read last: its facts are at the end.
SoftwareMemory software_memory(const Platform& platform) {
  SoftwareMemory memory;
  for (auto fact = platform.facts.rbegin(); fact != platform.facts.rend(); ++fact) {
    if (!fact->key.starts_with("software.")) break;
    if (!fact->key.starts_with(prefix)) continue;
    const auto scale = platform.scales.find(fact->key);
    const double factor = scale == platform.scales.end() ? 1.0 : scale->second;
    set(memory, std::string_view(fact->key).substr(std::string_view(prefix).size()),
        fact->value * factor);
  }
  return memory;
}

}  // namespace fourfold::inline platforms
