// Names for what a folded step does, kernel by kernel and collective by collective, for those who
// explain a time or draw it. The fold itself has none: equal work is one class whatever it is for.
#pragma once

#include <string>
#include <vector>

#include "schedule/fold/fold.hpp"

namespace fourfold::inline schedule::inline fold {

// "block.qkv gemm NN", "block.qkv.weight all_gather z".
std::string op_name(const Program& program, const Op& op);

// In the order of a body's steps.
struct BodyNames {
  std::vector<std::string> kernels;      // one for each class of its bundles: "block.qkv gemm NN"
  std::vector<std::string> collectives;  // one for each start: "block.qkv.weight all_gather z"
};

// A stretch of the step as people call it; micro-batch and layer are -1 outside their loops.
struct NamedSection {
  std::string name;
  std::int64_t micro_batch = -1;
  std::int64_t layer = -1;
};

struct NamedStep {
  Folded folded;  // equal to folded_step() of the same model and options
  std::vector<BodyNames> bodies;
  // One for each repetition of each run of each round of each cycle. The rounds of a steady stretch
  // differ in the micro-batch alone: only its first one is said.
  std::vector<NamedSection> sections;
};

// The rounds of a cycle that have sections of their own.
inline std::int64_t rounds_said(const BodyCycle& cycle) {
  return cycle.period.stretch < 0 ? cycle.repeats : 1;
}

NamedStep named_step(const Model& model, const StepOptions& options, const Stage& stage = {});

}  // namespace fourfold::inline schedule::inline fold
