// What a long run must get over: steps whose numbers are unsound or too large, data without
// targets, and a disk without room; and that none of it changes the numbers of a run without;
// long because each is a way of its own for a run to go wrong.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/run/bad_steps.hpp"
#include "engine/train/run/disk_room.hpp"
#include "engine/train/run/sound.hpp"
#include "schedule/order/step.hpp"
#include "support/random.hpp"
#include "tests/train/small_run.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

constexpr std::int64_t batch = 16, words = 16, steps = 24;

// A text that is easily learnt, but for the words of one step, which are drawn: `odd`, or none.
std::string text_with(std::int64_t odd) {
  std::string text;
  while (std::ssize(text) < 40 * batch * words) text += "the quick brown fox jumps over. ";
  for (std::int64_t i = (odd - 1) * batch * words; odd > 0 && i < odd * batch * words; ++i) {
    text[static_cast<std::size_t>(i)] =
        static_cast<char>(1 + scattered(static_cast<std::uint64_t>(i)) % 127);  // text has no zero
  }
  return text;
}

TrainSettings run_on(const SharedFolder& folder, const std::string& text) {
  TrainSettings settings = small_run(folder);
  settings.data.files = {folder.write("long.txt", text)};
  settings.data.validation_files = {folder.write("held-out.txt", text_with(0))};
  settings.data.order = DataOrder::sequential;
  settings.length.steps = steps;
  settings.learning_rate.last_part = 0.5;
  return settings;
}

class LongRuns : public InAFolder<FewRanks> {
 protected:
  World world;
  TrainSettings settings = run_on(folder, text_with(0));
};

using UnsoundUpdates = LongRuns;
using RunsWithBadSteps = FewRanks;
using StepsWithoutTargets = LongRuns;
using CheckpointsOfLongRuns = LongRuns;
using DiskRoom = LongRuns;

std::string checkpoints_of(const TrainSettings& settings) {
  return settings.folder + "/checkpoints";
}

TEST_F(UnsoundUpdates, AreNeverSavedAndLeaveTheLastSoundCheckpoint) {
  settings.length.steps = 3;
  const std::string sound = train_model(settings, world).checkpoint;
  settings.learning_rate = {.peak = 1e30, .last_part = 1.0, .warm_up_steps = 0};
  const auto diverges = [&](const std::string& where) {
    EXPECT_THAT(refusal([&] { train_model(settings, world); }),
                testing::AllOf(HasSubstr("training has diverged: " + where),
                               HasSubstr("lower --learning-rate")));
    EXPECT_TRUE(log_of(settings, "end").back().at("diverged").get<bool>());
    return finished_checkpoints(checkpoints_of(settings));
  };
  for (const std::int64_t every : {0, 1}) {
    settings.checkpoint_every = every;
    for (const std::int64_t length : {1, 2, 5}) {
      settings.length.steps = length;
      settings.folder += "-next";
      EXPECT_THAT(diverges(""), testing::IsEmpty()) << length << ' ' << every;
    }
  }
  settings.length.steps = 6;
  settings.folder = folder.file("run");
  settings.resume = checkpoints_of(settings);

  EXPECT_EQ(diverges("after step 4"), std::vector<std::string>{sound});
  EXPECT_EQ(read_training_state(checkpoints_of(settings)).step, 3);
}

TEST_F(UnsoundUpdates, AreFoundInEveryBlock) {
  const Program program = record_step(settings.model, settings.options, {0, 1});
  HostMemory memory;
  Weights weights(program, settings.grid, world_rank(), memory);
  weights.initialise(settings.model, 1);
  EXPECT_EQ(unsound_block(weights), "");
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    for (const Stored& stored : weights.all()) {
      float* last = stored.block.fp32() + stored.block.size() - 1;
      const float was = std::exchange(*last, bad);
      EXPECT_EQ(unsound_block(weights), stored.name);
      *last = was;
    }
  }
  EXPECT_EQ(unsound_block(weights), "");
}

// A run on a text whose step 12 alone has a norm beyond the limit, by the log of one that took it.
struct Spiky {
  Spiky() {
    settings = run_on(folder, text_with(12));
    whole = train_model(settings, world);
    auto norms = entries_of<double>(settings, "step", "gradient_norm");
    const auto largest = std::ranges::max_element(norms);
    EXPECT_EQ(largest - norms.begin(), 11);
    const double most = std::exchange(*largest, 0.0);
    settings.optimizer.largest_norm = (most + std::ranges::max(norms)) / 2;
  }

  SharedFolder folder;
  World world;
  TrainSettings settings;
  TrainOutcome whole;
};

std::vector<double> first(const std::vector<double>& all, std::int64_t count) {
  return {all.begin(), all.begin() + count};
}

TEST_F(RunsWithBadSteps, AreSkippedAndTheirRunGoesOnFromWhereItStops) {
  Spiky run;
  TrainSettings skips = run.settings, stops = run.settings;
  skips.bad_steps = BadSteps::skip;
  skips.folder += "-skip";
  const TrainOutcome skipped = train_model(skips, run.world);
  stops.folder += "-stop";
  const std::string sentence = refusal([&] { train_model(stops, run.world); });
  TrainSettings rest = skips;
  rest.resume = checkpoints_of(stops);
  rest.folder += "-rest";
  const TrainOutcome resumed = train_model(rest, run.world);

  EXPECT_EQ(first(skipped.losses, 12), first(run.whole.losses, 12));
  EXPECT_NE(skipped.losses[12], run.whole.losses[12]);
  EXPECT_EQ(read_training_state(skipped.checkpoint).step, steps);
  EXPECT_EQ(log_of(skips, "step")[11].at("bad"), "skip");
  EXPECT_EQ(log_of(skips, "end").back().at("bad_steps"), 1);
  EXPECT_THAT(sentence, HasSubstr("in step 12 the gradient's norm is "));
  EXPECT_THAT(sentence, HasSubstr("step 11 is saved: --resume " + checkpoints_of(stops)));
  EXPECT_EQ(read_training_state(checkpoints_of(stops)).step, 11);
  EXPECT_EQ(resumed.losses, std::vector<double>(skipped.losses.begin() + 11, skipped.losses.end()));
}

// A skipped step leaves weights and moments as they were, to the last bit.
TEST_F(RunsWithBadSteps, ChangeNothingWhereTheyAreSkipped) {
  Spiky run;
  run.settings.bad_steps = BadSteps::skip;
  run.settings.checkpoint_every = 1;
  run.settings.keep_checkpoints = steps;
  run.settings.folder += "-skip";
  train_model(run.settings, run.world);
  run.world.barrier();

  const auto saved = [&](std::int64_t step) {
    const std::string text =
        content_of(fmt::format("{}/step-{:08}.json", checkpoints_of(run.settings), step));
    return nlohmann::json::parse(text).at("checksums");
  };
  EXPECT_EQ(saved(11), saved(12));
  EXPECT_NE(saved(10), saved(11));
  EXPECT_NE(saved(12), saved(13));
}

// To the newest checkpoint, or to the start where none is due before.
TEST_F(RunsWithBadSteps, AreGoneBackFrom) {
  Spiky run;
  TrainSettings& settings = run.settings;
  settings.bad_steps = BadSteps::rewind;
  for (const std::int64_t every : {0, 5}) {
    settings.checkpoint_every = every;
    settings.folder += "-rewind";

    const TrainOutcome outcome = train_model(settings, run.world);

    const std::int64_t newest = 2 * every, again = 11 - newest;  // steps that are trained twice
    EXPECT_EQ(entries_of<std::int64_t>(settings, "rewind", "step"), std::vector{newest});
    const TrainingState state = read_training_state(outcome.checkpoint);
    EXPECT_EQ(state.step, steps);
    EXPECT_EQ(state.position, (steps + again + 1) * batch);  // the bad step's data are left
    EXPECT_EQ(std::ssize(log_of(settings, "step")), steps + again + 1);
    EXPECT_EQ(log_of(settings, "end").back().at("bad_steps"), 1);
  }
}

TEST_F(RunsWithBadSteps, EndTheRunWhereNothingHelps) {
  const SharedFolder folder;
  World world;
  TrainSettings settings = run_on(folder, text_with(0));
  settings.optimizer.largest_norm = 1e-9;
  for (const BadSteps what : {BadSteps::skip, BadSteps::rewind}) {
    settings.bad_steps = what;
    settings.folder = folder.file(name(what));

    EXPECT_THAT(refusal([&] { train_model(settings, world); }),
                HasSubstr("the last of 10 bad steps without a sound one"));
  }
}

// Else a run that goes back would take the same way to the same bad step for ever.
TEST_F(RunsWithBadSteps, AreForgivenOnlyBySoundStepsBeyondAllBefore) {
  for (const std::int64_t back : {1, 2, 5}) {
    BadStepCount count;
    for (std::int64_t step = 1; step <= 7; ++step) count.add_sound(step);
    for (std::int64_t bad = 1; bad <= 4; ++bad) {
      count.add_bad();
      for (std::int64_t step = 8 - back; step <= 7; ++step) count.add_sound(step);
      EXPECT_EQ(count.in_a_row, bad) << "steps back: " << back;
    }
    count.add_sound(8);
    EXPECT_EQ(count.in_a_row, 0);
    EXPECT_EQ(count.all, 4);
  }
}

TEST_F(StepsWithoutTargets, HaveNoLossAndASoundGradient) {
  const std::string prompt(3 * batch * words, 'p');  // of step 1 all, of step 2 all, of step 3 most
  std::string lines = fmt::format("{{\"prompt\": \"{}\", \"completion\": \"the end\"}}\n", prompt);
  for (int i = 0; i < 400; ++i)
    lines += "{\"prompt\": \"a\", \"completion\": \" fox jumps over\"}\n";
  settings.data.files = {folder.write("documents.jsonl", lines)};
  settings.data.validation_files = {folder.write("held-out.jsonl", lines)};
  settings.data.validation_words = 0;
  settings.length.steps = 5;

  const TrainOutcome outcome = train_model(settings, world);

  const std::vector<nlohmann::json> logged = log_of(settings, "step");
  ASSERT_EQ(logged.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    const bool none = logged[i].at("targets") == 0;
    EXPECT_EQ(none, i < 2);
    EXPECT_EQ(logged[i].at("loss").is_null(), none);
    EXPECT_EQ(std::isnan(outcome.losses[i]), none);
    if (none) {
      EXPECT_EQ(logged[i].at("gradient_norm"), 0.0);
    }
  }
  EXPECT_TRUE(std::isfinite(outcome.validation_loss));
}

TEST_F(CheckpointsOfLongRuns, AreWrittenByTheClockUnlessRefused) {
  settings.length.steps = 6;
  const auto saved_at = [&](double minutes) {
    settings.checkpoint_minutes = minutes;
    settings.folder = folder.file(fmt::format("minutes-{:g}", minutes));
    train_model(settings, world);
    return entries_of<std::int64_t>(settings, "checkpoint", "step");
  };

  EXPECT_EQ(saved_at(1e-9), (std::vector<std::int64_t>{2, 4, 6}));  // from the first step since
  EXPECT_EQ(saved_at(0.0), std::vector<std::int64_t>{6});
  EXPECT_EQ(saved_at(TrainSettings{}.checkpoint_minutes), std::vector<std::int64_t>{6});
  EXPECT_EQ(TrainSettings{}.checkpoint_minutes, 30.0);
}

// The count is that of the files; so many, and the one that is being written, are there at once.
TEST_F(DiskRoom, IsCountedAsItIsUsed) {
  settings.length.steps = 9;
  settings.checkpoint_every = 2;
  settings.checkpoint_minutes = 0.0;
  for (const std::int64_t keep : {1, 2, 100}) {
    settings.keep_checkpoints = keep;
    settings.folder = folder.file(fmt::format("keep-{}", keep));
    const DiskNeed need = counted_disk(settings, 0);
    const std::string newest = train_model(settings, world).checkpoint;

    EXPECT_EQ(need.checkpoints, std::min<std::int64_t>(keep + 1, 5));
    const std::string data = newest.substr(0, newest.size() - 4) + "safetensors";
    EXPECT_EQ(need.checkpoint_bytes, static_cast<std::int64_t>(std::filesystem::file_size(data)));
    EXPECT_LE(static_cast<std::int64_t>(std::filesystem::file_size(log_path(settings))),
              need.log_bytes + 4096);
    settings.length.steps = 20;  // what is there already takes no more room
    EXPECT_EQ(counted_disk(settings, 9).checkpoints, keep == 100 ? 6 : 1);
    settings.length.steps = 9;
    world.barrier();
  }
}

// One at the end, one in each period and, where bad steps go back, one before a run's first step.
TEST_F(DiskRoom, CountsTheCheckpointsOfAllPeriods) {
  settings.folder = folder.file("none");
  settings.keep_checkpoints = 1000;
  settings.length.steps = 20;
  for (const BadSteps bad : {BadSteps::stop, BadSteps::skip, BadSteps::rewind}) {
    for (const std::int64_t every : {0, 3, 20}) {
      for (const std::int64_t minutes : {0, 7, 60}) {
        settings.bad_steps = bad;
        settings.checkpoint_every = every;
        settings.length.minutes = 120.0;
        settings.checkpoint_minutes = static_cast<double>(minutes);
        settings.resume = minutes == 7 ? "a checkpoint" : "";
        std::int64_t count = bad == BadSteps::rewind && minutes != 7 ? 2 : 1;
        count += (every > 0 ? 20 / every : 0) + (minutes > 0 ? 120 / minutes : 0);
        EXPECT_EQ(counted_disk(settings, 0).checkpoints, count)
            << name(bad) << ", every " << every << " steps, every " << minutes << " minutes";
      }
    }
  }
}

TEST_F(DiskRoom, ThatIsNotThereIsRefusedWithNumbers) {
  TrainSettings mine;
  mine.folder = "runs/mine";
  const DiskNeed need{.checkpoint_bytes = 400'000'000, .checkpoints = 3, .log_bytes = 1'000'000};

  EXPECT_EQ(refusal([&] { refuse_without_disk(mine, need, {1'201'000'000, {}}); }), "");
  EXPECT_EQ(refusal([&] { refuse_without_disk(mine, need, {1'200'000'000, 1'000'000}); }), "");
  EXPECT_EQ(refusal([&] {
              refuse_without_disk(mine, need, {1'200'999'999, {}});
            }),
            "this run needs 1.2 GB on the disk of runs/mine, 1.2 GB for 3 checkpoints of 400.0 MB "
            "at once, and 1.0 MB for its log, and 1.2 GB are free; make room, keep fewer "
            "(--keep-checkpoints), or give a --folder on another disk");
  const std::string said = refusal([&] { refuse_without_disk(mine, {9, 3, 1'000}, {999, {}}); });
  EXPECT_THAT(said, HasSubstr("make room, take fewer steps (--steps), send the log elsewhere"));
  EXPECT_THAT(refusal([&] {
                refuse_without_disk(mine, {9, 3, 1'000}, {26, 1'000});
              }),
              HasSubstr("0.0 MB for 3 checkpoints of 0.0 MB at once, and 0.0 MB are free; make "
                        "room, keep fewer"));
  mine.log = "/proc/log.jsonl";  // a disk of its own, that has no room
  EXPECT_EQ(
      refusal([&] { refuse_without_disk(mine, need, free_room(mine)); }),
      "this run needs 1.0 MB for its log on the disk of /proc/log.jsonl, and 0.0 MB are free; "
      "make room, take fewer steps (--steps), or give a --log on another disk");
  mine.log = "mine.jsonl";
  EXPECT_EQ(free_room(mine).of_log, std::nullopt);
}

// Two thousand million steps have a log that no disk here has room for; all but one are done.
TEST_F(DiskRoom, IsAskedForTheStepsToComeAlone) {
  const Program program = record_step(settings.model, settings.options, {0, 1});
  HostMemory memory;
  const Weights weights(program, settings.grid, world_rank(), memory);
  settings.length.steps = 2'000'000'000;
  TrainingState state{settings.model, settings.length.steps - 1, 0, 1, nlohmann::json::object()};
  settings.resume = Checkpoints(checkpoints_of(settings), 1).write(state, weights);

  EXPECT_EQ(train_model(settings, world).losses.size(), 1U);
}

}  // namespace
}  // namespace fourfold::tests
