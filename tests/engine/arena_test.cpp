// The arena: no two values that are in use at the same time share a byte, and it needs hardly more
// than the counted rung's peak, which is what is in use at once.
#include "engine/plan/arena.hpp"

#include <gtest/gtest.h>

#include <random>

#include "engine/host_memory.hpp"
#include "engine/weights.hpp"
#include "schedule/order/ready_turns.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

struct Measured {
  double arena = 0.0, least = 0.0, persistent = 0.0, counted = 0.0;  // bytes
  double over_counted() const { return (arena + persistent) / counted; }
};

Measured measured(const Model& model, const StepOptions& options, const ProcessGrid& grid,
                  std::int64_t sequences, const Stage& stage = {}) {
  const std::int64_t tokens = sequences * model.sequence / options.micro_batches;
  const Schedule schedule = issue(record_step(model, options, stage), options);
  const BufferPlan plan = plan_buffers(schedule, grid, tokens);
  HostMemory memory;
  Measured result;
  result.arena = static_cast<double>(plan_arena(plan.buffers, StreamOrder(schedule)).bytes);
  result.least = static_cast<double>(least_bytes(plan.buffers));
  result.persistent = static_cast<double>(Weights(schedule.program, grid, 0, memory).bytes());
  result.counted = counted(folded_step(model, options, stage), grid, tokens).memory.peak.value;
  return result;
}

// Buffers by their parts, each with the bytes where it lies.
void expect_no_overlap(const std::vector<PlannedBuffer>& buffers, const ArenaPlan& plan) {
  struct Lying {
    std::size_t buffer = 0;
    std::int64_t begin = 0, end = 0;
    std::int32_t first = 0, last = 0;
  };
  std::vector<Lying> all;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 64, 0);
    EXPECT_LE(plan.offsets[i] + buffers[i].bytes, plan.bytes);
    for (const PlannedBuffer::Part& part : buffers[i].all_parts()) {
      const std::int64_t begin = plan.offsets[i] + part.offset;
      all.push_back({i, begin, begin + part.bytes, part.first, buffers[i].last});
    }
  }
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = all[a].first <= all[b].last && all[b].first <= all[a].last;
      const bool apart = all[a].end <= all[b].begin || all[b].end <= all[a].begin;
      ASSERT_TRUE(!together || apart) << all[a].buffer << " and " << all[b].buffer;
    }
  }
}

// Every fourth buffer is filled part by part, from its end on: what is gone before a part is filled
// may have lain there.
TEST(Arena, BuffersInUseTogetherShareNoByte) {
  std::mt19937 random(1);
  for (int round = 0; round < 40; ++round) {
    std::vector<PlannedBuffer> buffers;
    for (int i = 0; i < (round % 2 == 0 ? 200 : 60); ++i) {
      const auto first = static_cast<std::int32_t>(random() % 300);
      PlannedBuffer buffer{static_cast<std::int64_t>(random() % 5000), first,
                           first + static_cast<std::int32_t>(random() % 40)};
      if (round % 2 == 1 && i % 4 == 0) {
        buffer.bytes += 64;
        const std::int64_t behind = buffer.bytes / 3;
        const auto later = static_cast<std::int32_t>((buffer.first + buffer.last + 1) / 2);
        buffer.parts = {{0, buffer.bytes - behind, later},
                        {buffer.bytes - behind, behind, buffer.first}};
      }
      buffers.push_back(buffer);
    }

    const ArenaPlan plan = plan_arena(buffers);

    expect_no_overlap(buffers, plan);
    EXPECT_GE(plan.bytes, least_bytes(buffers));
  }
  const std::vector<PlannedBuffer> filled{{192, 0, 3, {{0, 128, 2}, {128, 64, 0}}}, {128, 0, 1}};
  EXPECT_EQ(plan_arena(filled).bytes, 192);
  EXPECT_EQ(least_bytes(filled), 192);
}

// Three buffers of 64, 128 and 64 bytes: the first and the last are never in use together.
TEST(Arena, ReusesWhatIsDead) {
  const std::vector<PlannedBuffer> buffers{{64, 0, 1}, {128, 1, 3}, {64, 2, 3}};

  const ArenaPlan plan = plan_arena(buffers);

  EXPECT_EQ(plan.bytes, 192);
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
}

// A buffer goes into the tightest gap below what is placed already, in steps of 64 bytes.
TEST(Arena, TakesTheTightestGapThatIsWideEnough) {
  // Two tall ones leave gaps of 192 and of 64 bytes under and between what is in use throughout.
  const std::vector<PlannedBuffer> buffers{{1000, 0, 9}, {65, 0, 4}, {192, 5, 9}, {60, 2, 3}};

  const ArenaPlan plan = plan_arena(buffers);

  EXPECT_EQ(plan.bytes, 1024 + 192);
  EXPECT_EQ(least_bytes(buffers), 1000 + 192);
  EXPECT_EQ(least_bytes({{10, 0, 1}, {20, 2, 3}}), 20);
  EXPECT_EQ(least_bytes({{10, 0, 2}, {20, 2, 3}}), 30);
}

TEST(Arena, OfAStepNeedsHardlyMoreThanTheCountedPeak) {
  const Model wide{"wide", 4, 256, 8, 64, 1000};
  const Model deep{"deep", 12, 64, 4, 64, 500};
  const Model wordy{"wordy", 2, 64, 4, 128, 8000};
  std::mt19937 random(9);
  for (const Model& model : {wide, deep, wordy}) {
    for (const char* text : {"1x1x1x1", "1x1x1x2", "2x2x1x1", "1x2x2x1", "2x1x2x2", "1x1x4x1"}) {
      for (int i = 0; i < 6; ++i) {
        StepOptions options = recomputing_some(random, random_options(random, 1 + i % 3));
        options.precision = i % 2 == 0 ? Precision::fp32 : Precision::bf16;
        options.zero = static_cast<std::int64_t>(random() % 4);
        const ProcessGrid grid = ProcessGrid::parse(text);

        const Measured m = measured(model, in_effect(options, grid), grid, 24);

        EXPECT_LE(m.over_counted(), 1.02)
            << model.name << " " << text << " " << described(options) << " zero=" << options.zero
            << " arena over least " << m.arena / m.least;
        EXPECT_NEAR((m.least + m.persistent) / m.counted, 1.0, 0.005)
            << model.name << " " << text << " " << described(options) << " zero=" << options.zero;
      }
    }
  }
}

// What waits on the host lies there, in as many bytes as are counted, and takes none of the arena.
TEST(BufferPlan, OfInputsOnTheHostIsWhatIsCounted) {
  std::mt19937 random(9);
  for (int i = 0; i < 12; ++i) {
    StepOptions kept = random_options(random, 1 + i % 3);
    kept.recompute = Recompute::full;
    kept.order = i % 2 == 0 ? PipelineOrder::one_f_one_b : PipelineOrder::gpipe;
    StepOptions away = kept;
    away.offload_activations = true;
    const Stage stage{i % 2, 2};
    const ProcessGrid grid(2, 1, 2, 1, 2);
    const std::int64_t tokens = 48;
    const auto planned = [&](const StepOptions& options) {
      return plan_buffers(issue(record_step(small_model(4), options, stage), options), grid,
                          tokens);
    };
    const BufferPlan with = planned(away), without = planned(kept);

    const MemoryUse counts = counted(folded_step(small_model(4), away, stage), grid, tokens).memory;

    EXPECT_EQ(static_cast<double>(least_bytes(with.on_host)), counts.on_host.value);
    EXPECT_LE(least_bytes(with.buffers), least_bytes(without.buffers));
    EXPECT_TRUE(without.on_host.empty());
  }
}

// A pack moves no bytes: what is born in its buffer and what is unpacked from it lie one after the
// other, in the order of the members.
TEST(BufferPlan, LaysTheMembersOfAPackOneAfterTheOther) {
  std::mt19937 random(9);
  int born = 0, unpacked = 0;
  for (int i = 0; i < 12; ++i) {
    StepOptions options = random_options(random, 1 + i % 3);
    options.precision = i % 2 == 0 ? Precision::fp32 : Precision::bf16;
    const ProcessGrid grid(2, 1, 2, 2);
    const Schedule schedule = issue(record_step(small_model(3), options, Stage{}), options);
    const Program& program = schedule.program;
    const BufferPlan plan = plan_buffers(schedule, grid, 48);
    const auto slot = [&](Id id) { return plan.slots[static_cast<std::size_t>(id)]; };
    const auto lie_in = [&](const Slot& whole, const std::vector<Id>& members, int& found) {
      std::int64_t offset = whole.offset;
      for (Id member : members) {
        if (slot(member).buffer == whole.buffer) {
          EXPECT_EQ(slot(member).offset, offset);
          found += offset > whole.offset ? 1 : 0;
        }
        offset += program.local_elements(member, grid, {48}) *
                  bytes_per_element(program[member].precision);
      }
    };
    for (const Op& op : program.ops) {
      if (op.kind == OpKind::pack) lie_in(slot(op.outputs[0]), op.inputs, born);
      if (op.kind == OpKind::unpack) lie_in(slot(op.inputs[0]), op.outputs, unpacked);
    }
  }
  EXPECT_GT(born, 10);
  EXPECT_GT(unpacked, 10);
}

// A position of a turn in any sequence that may come: buffers that are in use there lie apart.
TEST(Arena, OfAReadyQueueHoldsForEverySequenceOfTurns) {
  const Model deep{"deep", 8, 48, 4, 16, 96};
  const ProcessGrid grid = ProcessGrid::parse("z=2,pipe=4");
  std::mt19937 random(9);
  for (int round = 0; round < 12; ++round) {
    StepOptions options = random_options(random, 7);
    options.order = PipelineOrder::message_driven;
    options.pipeline_limit = static_cast<std::int64_t>(random() % 5);
    const Stage stage{round % 4, 4};
    const Schedule schedule = issue(record_step(deep, options, stage), options);
    const BufferPlan plan = plan_buffers(schedule, grid, 16 * 8);
    const ArenaPlan arena = plan_arena(plan.buffers, StreamOrder(schedule));
    const CutStream cut = cut_at_turns(schedule);
    const ReadyQueue& queue = schedule.program.order.ready;
    ReadyTurns turns(queue.limit, queue.turns / 2, stage);
    std::vector<std::size_t> position(schedule.stream.size() + 1, schedule.stream.size());
    std::size_t next = 0;
    const auto walk = [&](const CutStream::Stretch& stretch) {
      for (std::size_t s = stretch.first; s < stretch.last; ++s) position[s] = next++;
    };
    walk(cut.before);
    while (!turns.over()) {
      StepPart part = turns.only();
      if (turns.open()) part = random() % 2 == 0 ? StepPart::forward : StepPart::backward;
      walk(part == StepPart::forward ? cut.forwards[static_cast<std::size_t>(turns.forwards())]
                                     : cut.backwards[static_cast<std::size_t>(turns.backwards())]);
      turns.take(part);
    }
    walk(cut.behind);
    std::vector<PlannedBuffer> as_done = plan.buffers;
    for (PlannedBuffer& buffer : as_done) {
      buffer.first = static_cast<std::int32_t>(position[static_cast<std::size_t>(buffer.first)]);
      buffer.last = static_cast<std::int32_t>(position[static_cast<std::size_t>(buffer.last)]);
      for (PlannedBuffer::Part& part : buffer.parts) {
        part.first = static_cast<std::int32_t>(position[static_cast<std::size_t>(part.first)]);
      }
      ASSERT_LE(buffer.first, buffer.last);
    }

    expect_no_overlap(as_done, arena);
  }
}

// What is sent and received has room of its own as long as it is under way.
TEST(Arena, OfAStageNeedsHardlyMoreThanItsCountedPeak) {
  const Model deep{"deep", 12, 64, 4, 64, 500};
  const ProcessGrid grid = ProcessGrid::parse("z=2,pipe=4");
  std::mt19937 random(4);
  for (const PipelineOrder order :
       {PipelineOrder::one_f_one_b, PipelineOrder::gpipe, PipelineOrder::interleaved,
        PipelineOrder::zero_bubble, PipelineOrder::message_driven}) {
    StepOptions options = random_options(random, 8);
    options.order = order;
    options.chunks = order == PipelineOrder::interleaved ? 2 : 1;
    for (std::int64_t i = 0; i < 4; ++i) {
      const Measured m = measured(deep, options, grid, 64, Stage{i, 4});

      EXPECT_LE(m.over_counted(), 1.10)
          << name(order) << " stage " << i << " " << described(options);
      EXPECT_GE(m.over_counted(), 0.99) << name(order) << " stage " << i;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
