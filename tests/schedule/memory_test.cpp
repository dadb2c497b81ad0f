// Peak memory by liveness: small cases by hand, what more of an option may never do, and laws of
// what a framework's rules add.
#include "schedule/fold/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "schedule/fold/memory_rules.hpp"
#include "schedule/models/linear.hpp"
#include "schedule/models/parameter_count.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

double number(std::int64_t value) {
  return static_cast<double>(value);
}

double role(const MemoryUse& memory, Role role) {
  return memory.by_role[static_cast<std::size_t>(role)].value;
}

// Forward and backward of a k x n layer over m tokens, input and output's gradient given.
MemoryUse one_layer(std::int64_t m, std::int64_t k, std::int64_t n, const ProcessGrid& grid) {
  StepOptions options;
  options.recompute = Recompute::none;
  options.overlap = no_overlap;
  Recorder r;
  r.begin_section("layer", 0);
  const Cuts rows{Axis::data, Axis::z};
  const Id input =
      r.data("input", {all_tokens, k, {rows, {Axis::y}, {}, {}, Owed::sum}}, Precision::bf16);
  const Id gradient =
      r.data("gradient", {all_tokens, n, {rows, {Axis::x}, {}, {}, Owed::sum}}, Precision::bf16);
  Bucket bucket("bucket");
  Linear linear(r, "fc", weight_shape(k, n, Axis::y, Axis::x), WeightKind::matrix, bucket);
  std::map<Id, Id> kept;
  Gradients gradients;
  const Turn turn{StepPart::backward, 0, true, true};
  const Recording in{r, options, turn, kept, gradients};
  linear.backward(in, linear.forward(in, input, Hiding::all_gather).saved, gradient);
  bucket.reduce(r, options);
  return counted(fold_schedule(issue(r.finish(), options)), grid, m).memory;
}

// Of many tokens, a wide output, a wide input, a large weight.
TEST(PeakMemory, OfOneLayerIsThatByHand) {
  for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{
           {512, 8, 8}, {64, 8, 128}, {64, 128, 8}, {8, 64, 64}}) {
    const MemoryUse alone = one_layer(m, k, n, ProcessGrid());
    const MemoryUse along_z = one_layer(m, k, n, ProcessGrid(1, 1, 4, 1));
    const MemoryUse along_xy = one_layer(m, k, n, ProcessGrid(2, 4, 1, 1));

    // 2 bytes of weight and 12 of optimizer state; input and gradient, both bf16. Then the largest
    // of the output, the input's gradient, and the weight's gradient in bf16 beside its fp32 copy.
    const double given = number(14 * k * n + 2 * m * k + 2 * m * n);
    EXPECT_EQ(alone.peak.value, given + number(std::max({2 * m * n, 2 * m * k, 6 * k * n})));
    EXPECT_EQ(role(alone, Role::gathered), 0) << "nothing is gathered where nothing is cut";
    // Now the gathered weight lies beside the output or the input's gradient, and the
    // reduce-scatter needs the whole gradient and its piece; the cast of the piece needs less.
    const std::int64_t gather = 2 * k * n, rows = m / 4;
    EXPECT_EQ(along_z.peak.value,
              given / 4 + number(gather + std::max(2 * rows * std::max(n, k), gather / 4)));
    const double weight = number(k * n) / 8, input = number(m * k) / 2, output = number(m * n);
    EXPECT_EQ(along_xy.peak.value,
              14 * weight + input + output + std::max({output, input, 6 * weight}));
  }
}

double peak(const StepOptions& options, const ProcessGrid& grid) {
  return counted(small_model(6), options, grid, 96).memory.peak.value;
}

const std::vector<ProcessGrid> some_grids{ProcessGrid(), ProcessGrid(2, 2, 1, 1),
                                          ProcessGrid(1, 2, 4, 1), ProcessGrid(2, 1, 2, 2)};

// From the third on: the first has no sums of gradients yet, and the second one's put-off gradients
// begin theirs.
TEST(PeakMemory, MoreMicroBatchesNeverNeedMore) {
  std::mt19937 random(19);
  for (int i = 0; i < 60; ++i) {
    StepOptions options = random_options(random, 3);
    for (const ProcessGrid& grid : some_grids) {
      options.micro_batches = 3;
      double last = peak(options, grid);
      for (std::int64_t m : {6, 12, 24}) {
        options.micro_batches = m;
        const double now = peak(options, grid);
        EXPECT_LE(now, last) << grid.str() << " " << described(options);
        last = now;
      }
    }
  }
}

// Where z is not cut there is nothing in flight, and putting off a cast to fp32 even saves memory.
TEST(PeakMemory, MoreInFlightKeptOrRememberedNeverNeedsLess) {
  std::mt19937 random(23);
  for (int i = 0; i < 40; ++i) {
    StepOptions options = random_options(random, 1 + static_cast<int>(random() % 4));
    for (const ProcessGrid& grid : some_grids) {
      SCOPED_TRACE(grid.str() + " " + described(options));
      double last = 0;
      for (std::int64_t window = 0; window < 5 && grid.extent(Axis::z) > 1; ++window) {
        options.in_flight_blocks = window;
        EXPECT_GE(peak(options, grid), last) << "window " << window;
        last = peak(options, grid);
      }
      StepOptions keep = options, again = options;
      keep.weight_gather = WeightGather::keep;
      again.weight_gather = WeightGather::per_micro_batch;
      EXPECT_GE(peak(keep, grid), peak(again, grid));
      StepOptions remember = options, repeat = options;
      remember.recompute = Recompute::none;
      repeat.recompute = Recompute::full;
      EXPECT_GE(peak(remember, grid), peak(repeat, grid));
      StepOptions some = repeat;
      repeat.recompute_every = repeat.recompute_layers = 1;
      some.recompute_every = 1;
      some.recompute_layers = 0;
      EXPECT_GE(peak(repeat, grid), peak(some, grid)) << "the first layer, or all";
    }
  }
}

Model small() {
  return {"small", 4, 64, 4, 32, 128};
}

struct Asked {
  StepOptions options;
  ProcessGrid grid{2, 1, 1, 2};
  std::int64_t tokens = 256;  // of a micro-batch, of all replicas
};

Counted step_of(const Asked& asked, const Model& model = small()) {
  return counted(folded_step(model, asked.options), asked.grid, asked.tokens);
}

MemoryUse use(const Asked& asked, const MemoryRules& rules, const Model& model = small()) {
  const Counted step = step_of(asked, model);
  return peak_memory(step.folded, step.sizes, asked.grid, rules);
}

MemoryRules keeping(const Function& function, double bytes) {
  MemoryRules rules;
  rules.functions.push_back({&function, bytes});
  return rules;
}

Asked asked_with(Recompute recompute) {
  Asked asked;
  asked.options.recompute = recompute;
  return asked;
}

TEST(MemoryRules, WithoutAnyThePeakIsTheSteps) {
  for (Recompute recompute : {Recompute::none, Recompute::full}) {
    const Asked asked = asked_with(recompute);

    EXPECT_EQ(use(asked, {}).peak, step_of(asked).memory.peak);
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
      double sum = 0.0;
      for (Bytes bytes : found.by_role) sum += bytes.value;
      EXPECT_EQ(sum, found.peak.value);
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
