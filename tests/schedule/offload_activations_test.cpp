// Inputs of recomputed blocks on the host: what leaves the device, what the host holds, what goes
// to and fro, and what is refused.
#include <gtest/gtest.h>

#include "schedule/fold/memory.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/models/gpt.hpp"
#include "schedule/models/layer.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/refusal.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/schedule/to_and_fro.hpp"

namespace fourfold::tests {
namespace {

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

TEST(OffloadActivations, AreTheSameForAPipelineAStageAndARecordingOfAll) {
  for (std::int64_t number = 0; number < 40; ++number) {
    DrawnStep step = recomputing(number);
    step.options = offloading(step.options);
    const std::int64_t stages = step.grid.extent(Axis::pipe);
    const Pipeline pipeline(folded_stages(step.model, step.options, stages));
    std::vector<LocalSizes> of_kinds(pipeline.kinds().size());
    for (std::size_t k = 0; k < of_kinds.size(); ++k) {
      const auto stage = static_cast<std::size_t>(pipeline.kinds()[k].stage);
      of_kinds[k].evaluate(pipeline.stages()[stage], step.grid, {step.micro_batch_tokens()});
    }
    const std::vector<MemoryUse> all = peak_memory(pipeline, of_kinds, step.grid);
    for (std::int64_t i = 0; i < stages; ++i) {
      const Stage stage{i, stages};
      const Counted alone = counted(folded_step(step.model, step.options, stage), step.grid,
                                    step.micro_batch_tokens());
      const Counted whole =
          counted(fold_schedule(issue(record_step(step.model, step.options, stage), step.options)),
                  step.grid, step.micro_batch_tokens());
      for (const MemoryUse& use : {alone.memory, whole.memory}) {
        EXPECT_EQ(use.on_host, all[static_cast<std::size_t>(i)].on_host) << words_of(step);
        EXPECT_EQ(use.peak, all[static_cast<std::size_t>(i)].peak) << words_of(step);
      }
    }
  }
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
