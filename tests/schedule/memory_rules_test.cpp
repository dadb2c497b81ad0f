// Laws of what a framework's rules add to the memory of a step.
#include "schedule/fold/memory_rules.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

Model small() {
  Model model;
  model.layers = 4;
  model.hidden = 64;
  model.heads = 4;
  model.sequence = 32;
  model.vocabulary = 128;
  return model;
}

struct Asked {
  StepOptions options;
  ProcessGrid grid{2, 1, 1, 2};
  std::int64_t tokens = 256;  // of a micro-batch, of all replicas
};

MemoryUse use(const Asked& asked, const MemoryRules& rules, const Model& model = small()) {
  const Folded folded = folded_step(model, asked.options);
  LocalSizes sizes;
  sizes.evaluate(folded, asked.grid, {asked.tokens});
  return peak_memory(folded, sizes, asked.grid, rules);
}

MemoryRules keeping(const Function& function, double bytes) {
  MemoryRules rules;
  rules.functions.push_back({&function, bytes});
  return rules;
}

double sum_of_roles(const MemoryUse& memory) {
  return std::accumulate(memory.by_role.begin(), memory.by_role.end(), 0.0,
                         [](double sum, Bytes bytes) { return sum + bytes.value; });
}

Asked asked_with(Recompute recompute) {
  Asked asked;
  asked.options.recompute = recompute;
  return asked;
}

TEST(MemoryRules, WithoutAnyThePeakIsTheSteps) {
  for (Recompute recompute : {Recompute::none, Recompute::full}) {
    const Asked asked = asked_with(recompute);
    const Folded folded = folded_step(small(), asked.options);
    LocalSizes sizes;
    sizes.evaluate(folded, asked.grid, {asked.tokens});

    EXPECT_EQ(use(asked, {}).peak, peak_memory(folded, sizes, asked.grid).peak);
  }
}

TEST(MemoryRules, WhatIsKeptIsKeptOnceALayerAndOnceInAllWithRecompute) {
  // Up's columns, 4 x hidden, cut by x, of the tokens of a replica, a byte each.
  const double once = 128.0 * 256.0 / 2.0;
  const MemoryRules rules = keeping(functions::bias_gelu, 1.0);
  for (const auto& [recompute, layers] :
       {std::pair{Recompute::none, 4.0}, std::pair{Recompute::full, 1.0}}) {
    const Asked asked = asked_with(recompute);

    const double more = (use(asked, rules).peak - use(asked, {}).peak).value;

    EXPECT_EQ(more, layers * once) << name(recompute);
  }
}

TEST(MemoryRules, HalfOfTheTokensHalveWhatIsMadeOfTokensAndNothingElse) {
  MemoryRules rules = keeping(functions::bias_gelu, 1.0);
  rules.weights = 2.0;
  rules.optimizer = 12.0;
  rules.gradients = 4.0;
  rules.gradients_ahead = true;
  Asked whole = asked_with(Recompute::none), half = whole;
  whole.tokens = 4096;
  half.tokens = 2048;

  const MemoryUse of_whole = use(whole, rules), of_half = use(half, rules);

  for (Role role : {Role::parameter, Role::optimizer, Role::gradient}) {
    const auto r = static_cast<std::size_t>(role);
    EXPECT_EQ(of_half.by_role[r], of_whole.by_role[r]) << name(role);
  }
  const auto activation = static_cast<std::size_t>(Role::activation);
  EXPECT_NEAR(of_half.by_role[activation] / of_whole.by_role[activation], 0.5, 0.01);
}

TEST(MemoryRules, RolesAddUpToThePeak) {
  MemoryRules rules = keeping(functions::layer_norm, 3.0);
  rules.gradients = 2.0;
  for (bool ahead : {false, true}) {
    rules.gradients_ahead = ahead;
    for (Recompute recompute : {Recompute::none, Recompute::full}) {
      const MemoryUse found = use(asked_with(recompute), rules);
      EXPECT_EQ(sum_of_roles(found), found.peak.value);
    }
  }
}

TEST(MemoryRules, StateIsSoManyBytesAParameter) {
  MemoryRules rules;
  rules.weights = 0.0;
  rules.optimizer = 24.0;
  const Asked asked = asked_with(Recompute::none);
  const auto parameter = static_cast<std::size_t>(Role::parameter);
  const auto optimizer = static_cast<std::size_t>(Role::optimizer);

  const MemoryUse with = use(asked, rules), without = use(asked, {});

  EXPECT_EQ(with.by_role[parameter].value, 0.0);
  EXPECT_EQ(with.by_role[optimizer], without.by_role[optimizer] * 2.0);
}

TEST(MemoryRules, WhatIsGatheredIsThatOfTheOthersAlongX) {
  MemoryRules rules;
  rules.functions.push_back({&functions::layer_norm, 0.0, 2.0});
  Asked asked = asked_with(Recompute::none);
  EXPECT_EQ(use(asked, rules).peak, use(asked, {}).peak);
  asked.options.sequence_parallel = true;
  // Two norms a layer, 2 bytes of the other's half of 128 x 64.
  const double more = (use(asked, rules).peak - use(asked, {}).peak).value;

  EXPECT_GE(more, 4 * 2 * 2.0 * 64.0 * 64.0);
  EXPECT_LE(more, (4 * 2 + 1) * 2.0 * 64.0 * 64.0);  // and perhaps the head's
}

// As many keys and values as there are queries' heads, less those that there are anyway.
TEST(MemoryRules, WhatIsExpandedIsWhatHeadsOfAGroupShare) {
  MemoryRules rules;
  rules.functions.push_back({.function = &functions::attention, .expands = 1.0});
  const Asked asked = asked_with(Recompute::none);
  for (const std::int64_t shared : {8, 4, 2}) {
    Model model = small();
    model.heads = 8;
    model.key_value_heads = shared;
    const double more = (use(asked, rules, model).peak - use(asked, {}, model).peak).value;

    EXPECT_EQ(more, 4.0 * 128.0 * 2.0 * static_cast<double>(8 - shared) * 8.0 / 2.0) << shared;
  }
}

// Of one step ZeRO's next stage never needs more than the one before.
TEST(MemoryRules, ZeroNeverNeedsMoreThanTheStageBelow) {
  MemoryRules megatron;
  megatron.weights = 2.0;
  megatron.gradients = 4.0;
  megatron.optimizer = 12.0;
  for (const MemoryRules& rules : {MemoryRules{}, megatron}) {
    for (Precision precision : {Precision::bf16, Precision::fp32}) {
      Bytes below{1e30};
      for (std::int64_t zero = 0; zero <= 3; ++zero) {
        Asked asked = asked_with(Recompute::full);
        asked.grid = ProcessGrid(1, 1, 1, 4);
        asked.options.precision = precision;
        asked.options.zero = zero;
        const Bytes peak = use(asked, rules).peak;
        EXPECT_LE(peak.value, below.value) << name(precision) << ", ZeRO " << zero;
        below = peak;
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
