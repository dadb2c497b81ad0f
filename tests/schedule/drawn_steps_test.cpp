// Steps drawn over all options count the same whether a few micro-batches are recorded or all.
#include "tests/drawn_steps.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedule/fold/count.hpp"
#include "schedule/fold/memory.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::tests {
namespace {

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

// The fold records a few micro-batches and repeats the last period.
TEST(DrawnSteps, CountTheSameWithEveryMicroBatchRecorded) {
  for (std::int64_t number = 0; number < steps_drawn; number += 3) {
    const DrawnStep step = drawn_step(number, most_devices);
    const std::int64_t count_of_stages = step.grid.extent(Axis::pipe);
    std::vector<Folded> recorded;
    for (std::int64_t i = 0; i < count_of_stages; ++i) {
      const Stage stage{i, count_of_stages};
      recorded.push_back(
          fold_schedule(issue(record_step(step.model, step.options, stage), step.options)));
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
}  // namespace fourfold::tests
