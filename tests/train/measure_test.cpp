// Measurements of single operations: what is kept is not made again, what is no such file is
// refused, and every operation of a step can be timed alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/mpi/session.hpp"
#include "engine/train/measure/measurements.hpp"
#include "engine/train/measure/step_values.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Timing made_up() {
  return {2.0, 1.0, 3.0, 5, 0.0};
}

TEST(Measurements, AreNotMadeAgainWhereTheFileHasThem) {
  const World world;
  const SharedFolder folder;
  const std::string path = folder.path() + "/measured.jsonl";
  int made = 0;
  const auto measure = [&] {
    ++made;
    return made_up();
  };

  Measurements(world, path, "test").want({{"kind", "fma"}}, measure);
  world.barrier();
  const std::string kept = text_of(path);
  world.barrier();
  if (world.rank() == 0) std::ofstream(path, std::ios::app) << kept.substr(0, 30);  // cut off
  world.barrier();
  Measurements again(world, path, "test");
  again.want({{"kind", "fma"}}, measure);
  again.want({{"kind", "copy"}}, measure);
  world.barrier();

  // Once more only where the machine was busy with something else.
  EXPECT_GE(made, 2);
  const std::string text = text_of(path);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  const auto line = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(line.at("what").at("ranks"), world.size());
  EXPECT_DOUBLE_EQ(line.at("seconds"), 2.0);
  EXPECT_GT(line.at("reference_s").get<double>(), 0.0);
}

TEST(Measurements, OfAnotherFileAreRefused) {
  const World world;
  const SharedFolder folder;
  const std::string path = folder.path() + "/story.txt";
  if (world.rank() == 0) std::ofstream(path) << "It was a dark and stormy night.\nSuddenly\n";
  world.barrier();

  try {
    const Measurements measurements(world, path, "test");
    FAIL() << "a story was read as measurements";
  } catch (const FailedTogether& error) {
    EXPECT_THAT(error.what(), HasSubstr("is no file of measurements"));
  }
}

TEST(Measurements, HaveTheQuartilesOfAllRepetitions) {
  const Timing timing = timing_of({5.0, 1.0, 4.0, 2.0, 3.0});

  EXPECT_DOUBLE_EQ(timing.median, 3.0);
  EXPECT_DOUBLE_EQ(timing.low, 2.0);
  EXPECT_DOUBLE_EQ(timing.high, 4.0);
  EXPECT_EQ(timing.repetitions, 5);
  EXPECT_EQ(std::ssize(repeated([] {}, {4, 0.0})), 4);
}

TEST(StepValues, EveryOperationOfAStepIsComputedAlone) {
  const StepValues values({"tiny", 2, 32, 2, 8, 48}, 2);
  TunedBackend backend;
  int computed = 0;
  for (const Op& op : values.program().ops) {
    if (!StepValues::is_kernel(op)) continue;
    EXPECT_NO_THROW(values.run(backend, op)) << name(op.kind);
    ++computed;
  }
  EXPECT_GT(computed, 50);
}

}  // namespace
}  // namespace fourfold::tests
