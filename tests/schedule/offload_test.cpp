// What lies on the host in bytes, an optimizer and inputs of recomputed blocks: what leaves the
// device, what the host holds, what goes to and fro, and what is refused.
#include <gtest/gtest.h>

#include "schedule/fold/memory.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/models/gpt.hpp"
#include "schedule/models/layer.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/refusal.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

// What all operations of a folded step move between a device and its host's memory.
HostTraffic to_and_fro(const Folded& folded, const LocalSizes& sizes) {
  HostTraffic sum;
  for (const BodyCycle& cycle : folded.cycles) {
    for (const BodyRun& run : cycle.runs) {
      const auto times = static_cast<double>(run.repeats * cycle.repeats);
      for (const FoldedStep& step : folded.bodies[static_cast<std::size_t>(run.body)].steps) {
        if (step.kind != IssueKind::compute) continue;
        for (std::int32_t c : folded.bundles[static_cast<std::size_t>(step.index)]) {
          const HostTraffic once = host_traffic(folded.classes[static_cast<std::size_t>(c)], sizes);
          sum.to_device += once.to_device * times;
          sum.to_host += once.to_host * times;
          sum.buckets += once.buckets * times;
        }
      }
    }
  }
  return sum;
}

HostTraffic to_and_fro(const Counted& step) {
  return to_and_fro(step.folded, step.sizes);
}

StepOptions offloaded(std::int64_t bucket) {
  StepOptions options;
  options.offload_bucket = bucket;
  return options;
}

double state_on_device(const MemoryUse& memory) {
  return memory.by_role[static_cast<std::size_t>(Role::optimizer)].value;
}

// Of an fp32 weight that is its own master two kinds of state of 4 bytes, else three.
TEST(Offload, TakesMastersAndMomentsToTheHost) {
  const Model model = small_model(3);
  for (const ProcessGrid& grid :
       {ProcessGrid(), ProcessGrid(2, 1, 1, 2), ProcessGrid(1, 2, 4, 1)}) {
    for (const auto& [precision, zero] :
         {std::pair{Precision::bf16, 0}, {Precision::fp32, 0}, {Precision::fp32, 1}}) {
      StepOptions kept, away = offloaded(100);
      kept.precision = away.precision = precision;
      kept.zero = away.zero = zero;
      const bool two = precision == Precision::fp32 && zero == 0;

      const Counted plain = counted(model, kept, grid, 8);
      const Counted step = counted(model, away, grid, 8);

      EXPECT_EQ(step.memory.on_host.value, state_on_device(plain.memory));
      EXPECT_LE(state_on_device(step.memory), (two ? 8 : 12) * 100);
      EXPECT_EQ(plain.memory.on_host.value, 0);
      EXPECT_EQ(to_and_fro(step).to_device.value, step.memory.on_host.value);
      EXPECT_EQ(to_and_fro(step).to_host.value, step.memory.on_host.value);
      EXPECT_EQ(to_and_fro(plain).buckets, 0);
    }
  }
}

TEST(Offload, GoesInAsManyBucketsAsItTakes) {
  const Model model = small_model(1);

  const HostTraffic one = to_and_fro(counted(model, offloaded(1), ProcessGrid(), 1));
  const HostTraffic large = to_and_fro(counted(model, offloaded(1 << 20), ProcessGrid(), 1));

  EXPECT_EQ(one.buckets, one.to_device.value / 12);  // each has an element of three kinds
  EXPECT_EQ(large.to_device.value, one.to_device.value);
  EXPECT_EQ(large.buckets, 4);  // the table, small gradients of x and of y, one block
}

// With full recompute, of all layers or of some.
DrawnStep recomputing(std::int64_t number) {
  DrawnStep step = drawn_step(number, 96);
  const Draw draw(number, 0);
  step.options.recompute = Recompute::full;
  step.options.recompute_every = draw.of<std::int64_t>("every", {1, 1, 2});
  step.options.recompute_layers = draw.of<std::int64_t>("layers", {0, 0, 1});
  return step;
}

StepOptions offloading(StepOptions options) {
  options.offload_activations = true;
  return options;
}

// Of what passes between blocks, on one device.
double stream_bytes(const DrawnStep& step) {
  const Shape shape = stream_shape(step.model.hidden, step.options);
  return static_cast<double>(shape.local_elements(step.grid, {step.micro_batch_tokens()}) *
                             bytes_per_element(step.options.precision));
}

double recomputed_layers_of(const DrawnStep& step, const Stage& stage) {
  std::int64_t count = 0;
  for (std::int64_t c = 0; c < step.options.chunks; ++c) {
    const auto [first, next] =
        layers_of_chunk(step.model, step.options, stage.count, c * stage.count + stage.index);
    for (std::int64_t layer = first; layer < next; ++layer) {
      count += step.options.recomputes_layer(layer - first) ? 1 : 0;
    }
  }
  return static_cast<double>(count);
}

// Micro-batches whose backward is still to come, at most; 0 where it is not as simple.
std::int64_t most_in_flight(const DrawnStep& step, const Stage& stage) {
  const std::int64_t all = step.options.micro_batches;
  if (step.options.order == PipelineOrder::gpipe) return all;
  const bool simple = step.options.order == PipelineOrder::one_f_one_b ||
                      step.options.order == PipelineOrder::zero_bubble;
  return simple ? std::min(all, stage.count - stage.index) : 0;
}

TEST(OffloadActivations, TakeNothingMoreOfTheDeviceAndWaitOnTheHost) {
  int less = 0, exact = 0;
  for (std::int64_t number = 0; number < 60; ++number) {
    const DrawnStep step = recomputing(number);
    const std::int64_t stages = step.grid.extent(Axis::pipe);
    const std::vector<Folded> kept = folded_stages(step.model, step.options, stages);
    const std::vector<Folded> away = folded_stages(step.model, offloading(step.options), stages);
    for (std::int64_t i = 0; i < stages; ++i) {
      SCOPED_TRACE(words_of(step) + ", stage " + std::to_string(i));
      const auto at = static_cast<std::size_t>(i);
      LocalSizes sizes, of_kept;
      sizes.evaluate(away[at], step.grid, {step.micro_batch_tokens()});
      of_kept.evaluate(kept[at], step.grid, {step.micro_batch_tokens()});
      const double inputs = recomputed_layers_of(step, {i, stages}) * stream_bytes(step);

      const MemoryUse without = peak_memory(kept[at], of_kept, step.grid);
      const MemoryUse with = peak_memory(away[at], sizes, step.grid);

      EXPECT_LE(with.peak, without.peak);
      less += with.peak < without.peak ? 1 : 0;
      const double waiting = (with.on_host - without.on_host).value;
      EXPECT_GE(waiting, inputs);
      EXPECT_LE(waiting, inputs * static_cast<double>(step.options.micro_batches));
      if (const std::int64_t passes = most_in_flight(step, {i, stages}); passes > 0) {
        EXPECT_EQ(waiting, inputs * static_cast<double>(passes));
        ++exact;
      }
      const HostTraffic of_state = to_and_fro(kept[at], of_kept);
      const HostTraffic of_all = to_and_fro(away[at], sizes);
      const double moved = inputs * static_cast<double>(step.options.micro_batches);
      EXPECT_EQ((of_all.to_host - of_state.to_host).value, moved);
      EXPECT_EQ((of_all.to_device - of_state.to_device).value, moved);
    }
  }
  EXPECT_GT(less, 30);
  EXPECT_GT(exact, 30);
}

// A step without full recompute, and passes that train nothing, know of no host.
TEST(OffloadActivations, NeedRecomputeOfWholeBlocks) {
  const auto copies = [](const Program& program) {
    return std::ranges::count_if(program.ops, [](const Op& op) { return is_host_copy(op.kind); });
  };
  const Model model = small_model(4);
  for (const Recompute recompute :
       {Recompute::full, Recompute::none, Recompute::selective, Recompute::mlp, Recompute::norms}) {
    StepOptions plain, asked;
    plain.recompute = asked.recompute = recompute;
    asked.offload_activations = true;
    const bool full = recompute == Recompute::full;

    EXPECT_EQ(copies(record_step(model, asked)), full ? 8 : 0) << name(recompute);
    EXPECT_EQ(in_effect(asked, {}) == in_effect(plain, {}), !full) << name(recompute);
    EXPECT_EQ(copies(record_evaluation(model, asked, {})), 0);
    asked.phase = Phase::evaluation;
    plain.phase = Phase::evaluation;
    EXPECT_EQ(in_effect(asked, {}), in_effect(plain, {}));
  }
}

TEST(OffloadActivations, OnTheHostAreReadByNothingButTheirCopyBack) {
  Recorder r;
  const Id value = r.data("tokens", {8, 4, {}}, Precision::bf16);
  const Id there = r.to_host(value);
  const Id back = r.to_device(there);

  EXPECT_TRUE(r.value(there).on_host);
  EXPECT_FALSE(r.value(back).on_host);
  EXPECT_EQ(r.value(back).shape, r.value(value).shape);
  EXPECT_EQ(refusal([&] {
              r.add("sum", {there, there}, Precision::bf16);
            }),
            "add: operand on the host: tokens.on_host (8 x 4, replicated)");
  EXPECT_EQ(refusal([&] { r.to_host(there); }),
            "to_host: operand on the host: tokens.on_host (8 x 4, replicated)");
  EXPECT_EQ(refusal([&] { r.to_device(value); }),
            "to_device: not on the host: tokens (8 x 4, replicated)");
  EXPECT_EQ(refusal([&] { r.to_host(r.pack("pack", {value, back})); }).find("to_host: a pack"), 0U);
}

}  // namespace
}  // namespace fourfold::tests
