// A folded schedule, written out, is the schedule it was folded from, step for step.
#include "schedule/fold/fold.hpp"

#include <gtest/gtest.h>

#include "tests/schedule/flat.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

Schedule recorded(const Model& model, const StepOptions& options) {
  return issue(record_step(model, options), options);
}

TEST(Fold, WrittenOutIsTheScheduleForAnyOptions) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const Model model = small_model(1 + static_cast<std::int64_t>(random() % 6));
    const StepOptions options = random_options(random, 1 + static_cast<int>(random() % 5));
    const Schedule schedule = recorded(model, options);

    const Folded folded = fold_schedule(schedule);

    ASSERT_EQ(first_difference(flat(folded), flat(schedule)), "")
        << model.layers << " layers, " << described(options);
  }
}

TEST(Fold, OfAFewMicroBatchesStretchedIsTheFoldOfAll) {
  std::mt19937 random(4);
  for (int i = 0; i < 150; ++i) {
    const Model model = small_model(1 + static_cast<std::int64_t>(random() % 4));
    const StepOptions options = random_options(random, 4 + static_cast<int>(random() % 4));

    const Folded stretched = folded_step(model, options);

    ASSERT_EQ(first_difference(flat(stretched), flat(recorded(model, options))), "")
        << model.layers << " layers, " << described(options);
  }
}

TEST(Fold, LayersAndMicroBatchesCostNoMoreBodies) {
  StepOptions options;
  options.micro_batches = 3;
  const std::size_t bodies = fold_schedule(recorded(small_model(8), options)).bodies.size();

  options.micro_batches = 5;
  const Folded folded = fold_schedule(recorded(small_model(40), options));

  EXPECT_EQ(folded.bodies.size(), bodies);
}

TEST(Fold, EveryLayerOfEveryMicroBatchIsCounted) {
  StepOptions options;
  options.micro_batches = 7;
  const Model model = small_model(9);

  const Folded folded = folded_step(model, options);

  std::map<std::string, std::int64_t> sections;
  const Program program = record_step(model, options);
  for (const Section& section : program.sections) ++sections[section.name];
  std::int64_t runs = 0;
  for (const BodyCycle& cycle : folded.cycles) {
    for (const BodyRun& run : cycle.runs) runs += run.repeats * cycle.repeats;
  }
  EXPECT_EQ(sections.at("forward"), 9 * 7);
  EXPECT_EQ(sections.at("backward"), 9 * 7);
  EXPECT_EQ(runs, static_cast<std::int64_t>(program.sections.size()));
}

TEST(Fold, RecordsMoreMicroBatchesWhereTheWindowReachesAcrossThem) {
  StepOptions options;
  options.in_flight_blocks = 2;
  EXPECT_EQ(recorded_micro_batches(small_model(24), options), 4);
  options.in_flight_blocks = 25;
  EXPECT_EQ(recorded_micro_batches(small_model(24), options), 4);
  options.in_flight_blocks = 26;
  EXPECT_EQ(recorded_micro_batches(small_model(24), options), 5);
  options.overlap = no_overlap;
  EXPECT_EQ(recorded_micro_batches(small_model(24), options), 3);
}

TEST(Fold, StretchesOnlyWhatHasAMiddleAndOnlyUpwards) {
  Folded one = folded_step(small_model(2), {});
  StepOptions options;
  options.micro_batches = 4;
  Folded four = folded_step(small_model(2), options);

  EXPECT_THROW(stretch(one, 4), std::logic_error);
  EXPECT_THROW(stretch(four, 3), std::logic_error);
}

// What is counted of a value is what a device holds of it: pieces that do not divide are rounded
// up.
TEST(Fold, ItsSizesAreThoseOfTheValues) {
  const Folded folded = folded_step(small_model(1), {});
  const ProcessGrid grid(4, 3, 5, 1);
  const Quantities quantities{40};

  LocalSizes sizes;
  sizes.evaluate(folded, grid, quantities);

  ASSERT_EQ(sizes.elements.size(), folded.shapes.size());
  bool any_rounded = false;
  for (std::size_t i = 0; i < folded.shapes.size(); ++i) {
    const Shape& shape = folded.shapes[i];
    EXPECT_EQ(sizes.elements[i], shape.local_elements(grid, quantities)) << shape.sharding.str();
    const std::int64_t pieces = shape.sharding.pieces.parts(grid);
    any_rounded |= sizes.rows[i] * sizes.cols[i] % pieces != 0;
  }
  EXPECT_TRUE(any_rounded);
}

}  // namespace
}  // namespace fourfold::tests
