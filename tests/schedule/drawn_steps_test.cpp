// What 140 steps drawn over all options do and hold, counted: flops, bytes, peak memory, and a
// checksum of the schedule. No fact of a machine moves these numbers.
#include "tests/drawn_steps.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "schedule/fold/count.hpp"
#include "schedule/fold/memory.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/order/step.hpp"
#include "tests/golden.hpp"

namespace fourfold {
namespace {

using testing::Checksum;
using testing::drawn_step;
using testing::DrawnStep;

constexpr std::int64_t steps_drawn = 140;
constexpr std::int64_t most_devices = 96;

struct Counted {
  Counts counts;
  std::vector<MemoryUse> memory;
};

LocalSizes sizes_of(const Folded& folded, const DrawnStep& step) {
  LocalSizes sizes;
  sizes.evaluate(folded, step.grid, {step.micro_batch_tokens()});
  return sizes;
}

Counted counted(const std::vector<Folded>& stages, const DrawnStep& step) {
  std::vector<Counts> counts;
  Counted result;
  for (const Folded& folded : stages) {
    const LocalSizes sizes = sizes_of(folded, step);
    counts.push_back(count(folded, sizes, step.grid));
    result.memory.push_back(peak_memory(folded, sizes, step.grid));
  }
  result.counts = mean(counts);
  return result;
}

void add(Checksum& sum, const OpClass& op, const LocalSizes& sizes) {
  sum(static_cast<int>(op.kind))(op.function->name)(static_cast<int>(op.form));
  for (const auto* list : {&op.reads, &op.writes, &op.fetched}) {
    for (std::int32_t size : *list) sum(std::llround(sizes.bytes[static_cast<std::size_t>(size)]));
    sum(-1);
  }
  sum(std::llround(op_flops(op, sizes).value))(std::llround(op_traffic(op, sizes).value));
}

// What is done when: bodies, what they compute, start and wait for, and how often they come.
std::string schedule_of(const Folded& folded, const DrawnStep& step) {
  const LocalSizes sizes = sizes_of(folded, step);
  Checksum sum;
  std::int64_t steps = 0, kernels = 0, starts = 0;
  for (const Body& body : folded.bodies) {
    for (const FoldedStep& one : body.steps) {
      ++steps;
      sum(static_cast<int>(one.kind))(one.channel)(one.back);
      if (one.kind == IssueKind::compute) {
        for (std::int32_t c : folded.bundles[static_cast<std::size_t>(one.index)]) {
          ++kernels;
          add(sum, folded.classes[static_cast<std::size_t>(c)], sizes);
        }
      } else if (one.kind == IssueKind::start) {
        ++starts;
        const CollectiveClass& c = folded.collectives[static_cast<std::size_t>(one.index)];
        sum(static_cast<int>(c.kind))(
            std::llround(sizes.bytes[static_cast<std::size_t>(c.buffer)]));
      }
    }
    sum(-2);
  }
  std::int64_t runs = 0;
  for (const BodyCycle& cycle : folded.cycles) {
    sum(cycle.repeats);
    for (const BodyRun& run : cycle.runs) {
      runs += run.repeats * cycle.repeats;
      sum(run.body)(run.repeats);
    }
  }
  return fmt::format("{} bodies of {} steps, {} kernels, {} starts; {} runs, {:016x}",
                     folded.bodies.size(), steps, kernels, starts, runs, sum.value());
}

std::string text_of(const MemoryUse& use) {
  std::string text = fmt::format("{:.13g} =", use.peak.value);
  for (Bytes bytes : use.by_role) text += fmt::format(" {:.13g}", bytes.value);
  return text + fmt::format(", on host {:.13g}", use.on_host.value);
}

TEST(DrawnSteps, AreCountedAsTheGoldenNumbers) {
  std::string text;
  for (std::int64_t number = 0; number < steps_drawn; ++number) {
    const DrawnStep step = drawn_step(number, most_devices);
    const std::int64_t count_of_stages = step.grid.extent(Axis::pipe);
    const std::vector<Folded> stages = folded_stages(step.model, step.options, count_of_stages);
    const Counted found = counted(stages, step);
    const Counts& counts = found.counts;
    text += fmt::format("{}: {}\n  flop {:.13g} attention {:.13g} of the model {:.13g};", number,
                        words_of(step), counts.gemm.value, counts.attention.value,
                        model_flops(step.model, step.batch, step.options.recompute).value);
    for (std::size_t c = 0; c < counts.channels.size(); ++c) {
      if (counts.collectives[c] == 0) continue;
      text += fmt::format(" {} {} {:.13g} {:.13g}", name(counts.channels[c]), counts.collectives[c],
                          counts.payload[c].value, counts.sent[c].value);
    }
    text += '\n';
    for (std::size_t i = 0; i < stages.size(); ++i) {
      text += fmt::format("  stage {}: {}\n    {}\n", i, text_of(found.memory[i]),
                          schedule_of(stages[i], step));
    }
  }

  expect_golden("drawn_counts.txt", text);
}

// The fold records a few micro-batches and repeats the last period.
TEST(DrawnSteps, CountTheSameWithEveryMicroBatchRecorded) {
  for (std::int64_t number = 0; number < steps_drawn; number += 3) {
    const DrawnStep step = drawn_step(number, most_devices);
    const std::int64_t count_of_stages = step.grid.extent(Axis::pipe);
    std::vector<Folded> recorded;
    for (std::int64_t i = 0; i < count_of_stages; ++i) {
      const Stage stage{i, count_of_stages};
      recorded.push_back(fold(issue(record_step(step.model, step.options, stage), step.options)));
    }

    const Counted all = counted(recorded, step);
    const Counted few = counted(folded_stages(step.model, step.options, count_of_stages), step);

    EXPECT_NEAR(few.counts.executed().value / all.counts.executed().value, 1.0, 1e-12)
        << words_of(step);
    EXPECT_EQ(few.counts.collectives, all.counts.collectives) << words_of(step);
    for (std::size_t c = 0; c < all.counts.sent.size(); ++c) {
      EXPECT_NEAR(few.counts.sent[c].value, all.counts.sent[c].value,
                  1e-12 * all.counts.sent[c].value)
          << words_of(step) << ' ' << name(all.counts.channels[c]);
    }
    for (std::size_t i = 0; i < all.memory.size(); ++i) {
      EXPECT_EQ(few.memory[i].peak.value, all.memory[i].peak.value)
          << words_of(step) << " on " << i;
    }
  }
}

}  // namespace
}  // namespace fourfold
