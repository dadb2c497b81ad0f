// A run that starts can make all of its passes: whatever is drawn and not refused beforehand is
// walked by the referee, pass by pass.
#include "engine/train/run/passes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/batch.hpp"
#include "engine/executor.hpp"
#include "engine/host_memory.hpp"
#include "engine/reference/lockstep.hpp"
#include "engine/train/checkpoint/checkpoint_layout.hpp"
#include "engine/train/sample/sampler.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/order/step.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

using Passes = OneRank;

// Odd sequences and vocabularies, heads of keys and values of their own, a gated MLP.
Model drawn_family(const Draw& draw) {
  Model model = draw.of<Model>("family", {{"even", 4, 24, 12, 4, 29},
                                          {"odd", 3, 12, 6, 7, 31},
                                          {"prime", 2, 8, 4, 5, 13},
                                          {"one word", 4, 8, 8, 1, 3}});
  if (draw.often("grouped", 30)) model.key_value_heads = model.heads / 2;
  return model;
}

TrainSettings drawn_run(std::int64_t number) {
  for (std::int64_t attempt = 0;; ++attempt) {
    const Draw draw(number, attempt);
    TrainSettings settings;
    settings.model = drawn_family(draw);
    settings.grid = ProcessGrid(
        draw.of<std::int64_t>("x", {1, 2, 2, 3, 4, 6}), draw.of<std::int64_t>("y", {1, 1, 2}),
        draw.of<std::int64_t>("z", {1, 1, 2, 3}), draw.of<std::int64_t>("data", {1, 1, 2, 5}),
        draw.of<std::int64_t>("pipe", {1, 1, 2, 3}));
    if (settings.grid.size() > 8) continue;
    settings.options = drawn_options(draw, number);
    settings.options.sequence_parallel = draw.often("sequence parallel", 70);
    settings.batch = draw.of<std::int64_t>("sequences", {1, 2, 4}) *
                     batch_unit(settings.grid, settings.options.micro_batches);
    settings.sampling.texts = draw.of<std::int64_t>("texts", {1, 2, 3, 5});
    settings.sampling.tokens = draw.of<std::int64_t>("tokens", {0, 1, 9});
    const Misfit misfit =
        find_misfit(settings.model, settings.grid, settings.batch, settings.options);
    if (misfit == Misfit::none) return settings;
  }
}

// Plans it on every stage, and the referee walks it.
void walk(const PlannedPass& pass, const ProcessGrid& grid) {
  std::vector<Schedule> stages;
  const std::int64_t count = grid.extent(Axis::pipe);
  for (std::int64_t i = 0; i < count; ++i) {
    const Stage stage{i, count};
    EXPECT_GT(planned(pass, grid, stage).value, 0.0);
    stages.push_back(pass.schedule(pass.model, pass.options, stage));
  }
  Model read = pass.model;
  read.sequence = tokens_of_sequence(pass.model, stages.front().program.phase);
  Lockstep<float> run(pass.model, std::move(stages), grid, 1);
  run.step(random_batch(read, pass.sequences, 3), {});
}

// Plans the checkpoints of every rank.
void plan_to_save(const TrainSettings& settings) {
  const ProcessGrid& grid = settings.grid;
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    HostMemory host;
    const Weights weights(record_step(settings.model, settings.options, stage_of(grid, rank)), grid,
                          rank, host);
    EXPECT_FALSE(CheckpointLayout(weights, saved_matrices(settings.model)).blocks().empty() &&
                 !weights.all().empty());
  }
}

TEST_F(Passes, OfARunThatStartsAreAllDone) {
  std::int64_t walked = 0, uneven = 0;
  for (std::int64_t number = 0; number < 150; ++number) {
    const TrainSettings settings = drawn_run(number);
    refuse_passes(settings, TokenFormat::nanogpt);
    for (const PlannedPass& pass : passes_of(settings)) {
      SCOPED_TRACE(std::to_string(number) + ", " + pass.what + " on " + settings.grid.str());
      EXPECT_NO_THROW(walk(pass, settings.grid));
      ++walked;
    }
    EXPECT_NO_THROW(plan_to_save(settings)) << number;
    const std::int64_t drawn = sequences_of_texts(settings.sampling.texts, settings.grid) /
                               replicas(settings.grid) * settings.model.sequence;
    uneven += settings.sampling.tokens > 0 && settings.options.sequence_parallel &&
              drawn % settings.grid.extent(Axis::x) != 0;
  }
  EXPECT_GT(walked, 400);
  EXPECT_GT(uneven, 5);  // the draw holds what once died while it drew texts
}

// What the law rests on: a pass that cannot be cut is not walked.
TEST_F(Passes, ThatDoNotFitAreNotWalked) {
  TrainSettings settings;
  settings.model = {"odd", 3, 12, 6, 7, 31};
  settings.grid = ProcessGrid(2, 1, 1, 1);
  settings.options.sequence_parallel = true;
  settings.batch = 2;
  settings.sampling.texts = 1;
  PlannedPass pass = passes_of(settings).at(2);
  EXPECT_NO_THROW(walk(pass, settings.grid));
  pass.options.sequence_parallel = true;

  EXPECT_THAT(refusal([&] { walk(pass, settings.grid); }),
              HasSubstr("drawing texts cannot be done on grid 2x1x1x1"));
}

TEST_F(Passes, AreRefusedForWhatTheirTextsBeginWith) {
  TrainSettings settings;
  settings.model = {"small", 2, 16, 2, 8, 100};
  settings.batch = 2;
  settings.sampling.prompt = "na\xC3\xAFve";

  EXPECT_THAT(refusal([&] { refuse_passes(settings, TokenFormat::text); }),
              HasSubstr("outside the model's vocabulary of 100"));
  EXPECT_THAT(refusal([&] { refuse_passes(settings, TokenFormat::nanogpt); }),
              HasSubstr("is no number"));
  settings.sampling.tokens = 0;
  EXPECT_EQ(refusal([&] { refuse_passes(settings, TokenFormat::text); }), "");
  settings.sampling = SamplingSettings();
  settings.sampling.prompt = "a";
  settings.sampling.texts = 1'000'000'000'000;
  EXPECT_THAT(refusal([&] { refuse_passes(settings, TokenFormat::text); }),
              HasSubstr("are more than the 8589934592 whose words are counted"));
}

TEST_F(Passes, AreCountedBeforeTheyAreMade) {
  TrainSettings settings;
  settings.model = {"small", 2, 16, 2, 8, 100};
  settings.batch = 2;
  const Bytes with = memory_of_later_passes(settings, {});
  settings.sampling.texts *= 100;
  const Bytes with_more = memory_of_later_passes(settings, {});
  settings.sampling.tokens = 0;
  const Bytes without = memory_of_later_passes(settings, {});

  EXPECT_GT(without.value, 0.0);
  EXPECT_GT(with.value, without.value);
  EXPECT_GT(with_more.value, 50 * (with.value - without.value));
  // Passes, what other ranks are told, and the keys and values of every token of every layer.
  settings.sampling.tokens = 1;
  for (const std::int64_t texts : {1, 2, 5}) {
    settings.sampling.texts = texts;
    const Model& model = settings.model;
    double known = host_memory_of_texts(model, settings.grid, texts).value;
    const std::vector<PlannedPass> passes = passes_of(settings);
    for (std::size_t i = 1; i < passes.size(); ++i) {
      known += planned(passes[i], settings.grid, {}).value;
    }
    const auto width = bytes_per_element(settings.options.precision);
    EXPECT_EQ(memory_of_later_passes(settings, {}).value - known,
              static_cast<double>(2 * model.layers * model.hidden * model.sequence * texts * width))
        << texts;
  }
  EXPECT_EQ(refusal([] { refuse_later_without_room({1e9}, {2e9}, 2, 6'000'000'000); }), "");
  EXPECT_THAT(refusal([] { refuse_later_without_room({1e9}, {2e9}, 2, 5'000'000'000); }),
              HasSubstr("needs 1.0 GB a rank for its steps and 2.0 GB more for validation and the "
                        "texts it draws, 6.0 GB for the 2 ranks on this node, and 5.0 GB are"));
}

}  // namespace
}  // namespace fourfold::tests
