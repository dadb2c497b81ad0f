// What a run does after which step, what a resumed one goes on with, and what ranks tell each
// other.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/run/agreement.hpp"
#include "tests/train/small_run.hpp"

namespace fourfold::tests {
namespace {

using RunCadence = SmallRuns<FewRanks>;

using ::testing::HasSubstr;
using Steps = std::vector<std::int64_t>;

// The steps at which each kind of line stands in the log.
std::map<std::string, Steps> steps_by_kind(const TrainSettings& settings) {
  std::map<std::string, Steps> steps;
  for (const nlohmann::json& entry : log_of(settings)) {
    if (entry.contains("step")) steps[entry.at("kind")].push_back(entry.at("step"));
  }
  return steps;
}

// What is due with the last step is done once; where nothing is asked for, nothing is due before.
TEST_F(RunCadence, ValidatesAndSavesAfterEveryNthStepAndAtTheEnd) {
  struct Cadence {
    std::int64_t steps, validate_every, checkpoint_every;
    Steps validations, checkpoints;
  };
  settings.keep_checkpoints = 2;
  for (const Cadence& cadence : std::vector<Cadence>{
           {7, 2, 3, {2, 4, 6, 7}, {3, 6, 7}}, {6, 3, 2, {3, 6}, {2, 4, 6}}, {7, 0, 0, {7}, {7}}}) {
    settings.length.steps = cadence.steps;
    settings.validate_every = cadence.validate_every;
    settings.checkpoint_every = cadence.checkpoint_every;
    settings.folder += "-next";

    const TrainOutcome outcome = train_model(settings, world);

    const auto steps = steps_by_kind(settings);
    EXPECT_EQ(std::ssize(steps.at("step")), cadence.steps);
    EXPECT_EQ(steps.at("validation"), cadence.validations);
    EXPECT_EQ(steps.at("checkpoint"), cadence.checkpoints);
    EXPECT_EQ(steps.at("end"), Steps{cadence.steps});
    EXPECT_EQ(std::ssize(outcome.losses), cadence.steps);
    std::size_t kept = 0;
    for (const auto& file : std::filesystem::directory_iterator(settings.folder + "/checkpoints")) {
      kept += file.path().extension() == ".json";
    }
    EXPECT_EQ(kept, std::min<std::size_t>(2, cadence.checkpoints.size()));
  }
}

// Steps are counted over both runs, and what is due is, too.
TEST_F(RunCadence, GoesOnCountingAfterAResume) {
  settings.length.steps = 4;
  settings.resume = train_model(settings, world).checkpoint;
  settings.length.steps = 9;
  settings.validate_every = 3;
  settings.folder = folder.file("second");

  const TrainOutcome outcome = train_model(settings, world);

  const auto steps = steps_by_kind(settings);
  EXPECT_EQ(steps.at("step"), (Steps{5, 6, 7, 8, 9}));
  EXPECT_EQ(steps.at("end"), Steps{9});
  EXPECT_EQ(outcome.losses.size(), 5U);
  EXPECT_EQ(steps.at("validation").back(), 9);
  EXPECT_THAT(refusal([&] { train_model(settings, world); }), HasSubstr("holds an earlier run"));
}

// A resumed run goes on reading where it was in the data that it read, and at the beginning of
// others.
TEST_F(RunCadence, NewDataAreReadFromTheirBeginningAndTheSameFromWhereTheyWere) {
  settings.length.steps = 2;
  settings.resume = train_model(settings, world).checkpoint;
  settings.length.steps = 3;
  struct Resumed {
    std::vector<std::string> files, validation_files, changes;
    std::int64_t position;
  };
  const std::string same = settings.data.files[0];
  const std::string other = folder.write("b.txt", repeated(60, "a lazy dog "));
  for (const Resumed& resumed :
       std::vector<Resumed>{{{same}, {}, {}, 3 * 16},
                            {{other}, {}, {"--data b.txt instead of text.txt"}, 16},
                            {{same, other}, {}, {"--data b.txt instead of text.txt"}, 16},
                            {{same}, {other}, {"--validation-data b.txt instead of "}, 16}}) {
    settings.data.files = resumed.files;
    settings.data.validation_files = resumed.validation_files;
    settings.changes = resumed.changes;
    settings.folder += "-next";
    SCOPED_TRACE(settings.folder);

    const TrainOutcome outcome = train_model(settings, world);

    EXPECT_EQ(read_training_state(outcome.checkpoint).position, resumed.position);
    const auto said = testing::Conditional(
        resumed.position == 16, HasSubstr("read from their beginning, not from sequence 32 on"),
        testing::Not(HasSubstr("beginning")));
    EXPECT_THAT(log_of(settings, "run").front().dump(), said);
  }
}

TEST(World, TellsAllWhatEachHas) {
  const World world;
  std::vector<std::int64_t> ranks;
  for (std::int64_t rank = 0; rank < world.size(); ++rank) ranks.push_back(10 * rank);

  EXPECT_EQ(world.all(10 * world.rank()), ranks);
  EXPECT_EQ(world.from_last(1.5 + static_cast<double>(world.rank())),
            0.5 + static_cast<double>(world.size()));
  EXPECT_EQ(world.from_first(fmt::format("of rank {}", world.rank())), "of rank 0");
  EXPECT_EQ(world.ranks_on_this_node(), world.size());
  const auto numbers_of = [](std::int64_t rank) {
    return std::vector<int>(static_cast<std::size_t>(rank) + 1, static_cast<int>(rank));
  };
  for (std::int64_t sender = 0; sender < world.size(); ++sender) {
    if (world.rank() != sender && world.rank() != 0) continue;
    EXPECT_EQ(world.to_first(numbers_of(world.rank()), sender),
              world.rank() == 0 ? numbers_of(sender) : std::vector<int>{});
  }
}

TEST(Agreement, AFailureOfAnyRankIsThatOfAll) {
  const int last = world_size() - 1;
  const auto fail_on = [](int rank) {
    return refusal([rank] {
      together([rank] {
        if (world_rank() == rank) throw std::runtime_error(fmt::format("rank {} fell", rank));
      });
    });
  };

  EXPECT_EQ(fail_on(last), fmt::format("rank {} fell", last));
  EXPECT_EQ(fail_on(0), "rank 0 fell");
  EXPECT_EQ(fail_on(-1), "");
  EXPECT_EQ(
      refusal([] { together([] { throw std::runtime_error(std::to_string(world_rank())); }); }),
      "0");  // the first of all that fail
  EXPECT_EQ(from_first_rank([] { return std::to_string(world_rank()); }), "0");
}

}  // namespace
}  // namespace fourfold::tests
