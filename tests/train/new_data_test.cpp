// Where a resumed run goes on reading: where it was in the data that it read, and at the beginning
// of others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/run/train.hpp"
#include "tests/train/few_ranks.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using NewData = FewRanks;

using testing::HasSubstr;

std::string text_of(const std::string& line) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += line + std::to_string(i) + "\n";
  return text;
}

TrainSettings small_run(const SharedFolder& folder, const std::string& name) {
  TrainSettings settings;
  settings.model = {"small", 1, 16, 8, 16, 128};
  settings.grid = ProcessGrid(1, 1, 1, world_size());
  settings.batch = 8;
  settings.options.precision = Precision::fp32;
  settings.options.recompute = Recompute::none;
  settings.length.steps = 2;
  settings.sampling.tokens = 0;
  settings.screen = Screen::silent;
  settings.folder = folder.file(name);
  return settings;
}

std::string header_of(const TrainSettings& settings) {
  MPI_Barrier(MPI_COMM_WORLD);
  std::ifstream file(log_path(settings));
  std::string line;
  std::getline(file, line);
  return line;
}

TEST_F(NewData, AreReadFromTheirBeginningAndTheSameFromWhereTheyWere) {
  const SharedFolder folder;
  World world;
  TrainSettings first = small_run(folder, "first");
  first.data.files = {folder.write("a.txt", text_of("the quick brown fox "))};
  const TrainOutcome before = train_model(first, world);
  struct Resumed {
    const char* name;
    std::vector<std::string> files, validation_files, changes;
    std::int64_t position;
  };
  const std::string other = folder.write("b.txt", text_of("a lazy dog "));
  const std::string held_out = folder.write("c.txt", text_of("another "));
  for (const Resumed& resumed : std::vector<Resumed>{
           {"same", first.data.files, {}, {}, 3 * 8},
           {"other", {other}, {}, {"--data b.txt instead of a.txt"}, 8},
           {"more", {first.data.files[0], other}, {}, {"--data b.txt instead of a.txt"}, 8},
           {"parts", first.data.files, {held_out}, {"--validation-data c.txt instead of "}, 8}}) {
    SCOPED_TRACE(resumed.name);
    TrainSettings second = small_run(folder, resumed.name);
    second.data.files = resumed.files;
    second.data.validation_files = resumed.validation_files;
    second.changes = resumed.changes;
    second.length.steps = 3;
    second.resume = before.checkpoint;

    const TrainOutcome outcome = train_model(second, world);

    EXPECT_EQ(read_training_state(outcome.checkpoint).position, resumed.position);
    const auto said = testing::Conditional(
        resumed.position == 8, HasSubstr("read from their beginning, not from sequence 16 on"),
        testing::Not(HasSubstr("beginning")));
    EXPECT_THAT(header_of(second), said);
  }
}

}  // namespace
}  // namespace fourfold::tests
