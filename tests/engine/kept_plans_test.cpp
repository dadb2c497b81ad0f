// What the engine is planned to do and starts from, in numbers that must not drift: memory, blocks,
// words and weights of small steps.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "engine/batch.hpp"
#include "engine/executor.hpp"
#include "engine/host_memory.hpp"
#include "engine/initial_weights.hpp"
#include "engine/plan/arena.hpp"
#include "engine/plan/block_place.hpp"
#include "engine/plan/buffers.hpp"
#include "engine/plan/ring_order.hpp"
#include "engine/reference/lockstep.hpp"
#include "engine/weights.hpp"
#include "schedule/order/step.hpp"
#include "tests/golden.hpp"

namespace fourfold::tests {
namespace {

const Model small{"small", 3, 24, 4, 6, 50};

std::vector<StepOptions> option_sets() {
  std::vector<StepOptions> sets(1);
  sets[0].micro_batches = 2;
  sets.push_back(sets[0]);
  sets.back().recompute = Recompute::none;
  sets.push_back(sets[0]);
  sets.back().precision = Precision::fp32;
  sets.back().overlap = {false, false, false, false, false};
  sets.push_back(sets[0]);
  sets.back().weight_gather = WeightGather::keep;
  sets.back().gradient_reduction = GradientReduction::accumulated;
  sets.back().data_reduction = DataReduction::beside_backward;
  sets.push_back(sets[0]);
  sets.back().zero = 3;
  sets.back().sequence_parallel = true;
  return sets;
}

TEST(KeptPlans, OfMemoryAreTheGoldenOnes) {
  std::string text;
  for (const StepOptions& options : option_sets()) {
    for (const char* grid_text :
         {"1x1x1x1", "2x1x2x1", "1x3x1x2", "2x2x2x2", "x=2,z=2,pipe=3", "data=4,pipe=2"}) {
      const ProcessGrid grid = ProcessGrid::parse(grid_text);
      const std::int64_t stages = grid.extent(Axis::pipe);
      for (std::int64_t i = 0; i < stages; ++i) {
        const Schedule schedule = issue(record_step(small, options, Stage{i, stages}), options);
        const BufferPlan plan = plan_buffers(schedule, grid, 8 * small.sequence);
        const ArenaPlan arena = plan_arena(plan.buffers);
        std::int64_t lifetimes = 0;
        for (const PlannedBuffer& one : plan.buffers) lifetimes += one.last - one.first + 1;
        HostMemory memory;
        const Weights weights(schedule.program, grid,
                              grid.size() - 1 - (stages - 1 - i) * grid.stride(Axis::pipe), memory);
        text += fmt::format(
            "{} stage {}: {} steps, {} buffers of {} bytes at once, {} together, "
            "{} in weights\n",
            grid_text, i, schedule.stream.size(), plan.buffers.size(), least_bytes(plan.buffers),
            arena.bytes, weights.bytes());
        text += fmt::format("  lifetimes {}\n", lifetimes);
      }
    }
  }

  expect_golden("plans.txt", text);
}

TEST(RingOrder, CutsIntoChunksOfWhichTheLastMayBeShorter) {
  for (std::int64_t elements : {0, 1, 5, 11, 12}) {
    for (std::int64_t members : {1, 2, 4, 7}) {
      std::int64_t next = 0;
      for (std::int64_t chunk = 0; chunk < members; ++chunk) {
        const RingChunk one = ring_chunk(elements, members, chunk);
        EXPECT_EQ(one.first, next);
        EXPECT_LE(one.elements, ring_piece(elements, members));
        next += one.elements;
      }
      EXPECT_EQ(next, elements);
      EXPECT_GE(ring_piece(elements, members) * members, elements);
      EXPECT_LT(ring_piece(elements, members) * members, elements + members);
    }
  }
  EXPECT_EQ(ring_member(4, 2, 0), 3);
  EXPECT_EQ(ring_member(4, 2, 3), 2);
}

TEST(KeptNumbers, OfWeightsAndBatchesAreTheGoldenOnes) {
  std::string text;
  for (const auto& [name, kind] : {std::pair{"matrix", WeightKind::matrix},
                                   {"residual", WeightKind::residual_matrix},
                                   {"bias", WeightKind::bias},
                                   {"norm", WeightKind::norm}}) {
    text += fmt::format("{}:", name);
    for (std::int64_t i = 0; i < 6; ++i) {
      text += fmt::format(" {:.9g}", InitialWeights(kind, "block.0.w", 12, 5)(i % 2, 7 * i));
    }
    text += '\n';
  }
  const NormalNumbers numbers(3, "name");
  for (std::uint64_t i = 0; i < 8; ++i) text += fmt::format("{:.9g} ", numbers[i]);
  const Batch drawn = random_batch(small, 3, 11);
  text += fmt::format("\ntokens {}\ntargets {}\n", fmt::join(drawn.tokens, " "),
                      fmt::join(drawn.targets, " "));
  const Batch counting = counting_batch(small, 3);
  text += fmt::format("tokens {}\ntargets {}\n", fmt::join(counting.tokens, " "),
                      fmt::join(counting.targets, " "));

  expect_golden("engine_numbers.txt", text);
}

}  // namespace
}  // namespace fourfold::tests
