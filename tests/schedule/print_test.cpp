// The printed program of a tiny model, as golden text: meant to be read.
#include "schedule/fold/print.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/paths.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

std::string golden() {
  std::ifstream file(source_path("tests/golden/program_gpt-tiny.txt"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Model tiny(std::int64_t layers) {
  return {"gpt-tiny", layers, 64, 4, 16, 128};
}

// On a difference: print_program(tiny(3), {}) is written to program_gpt-tiny.txt in the temporary
// folder; read what changed, then replace the golden file by it.
TEST(PrintProgram, IsTheGoldenText) {
  const std::string text = print_program(tiny(3), {});

  if (text != golden()) {
    std::ofstream(::testing::TempDir() + "program_gpt-tiny.txt") << text;
  }
  EXPECT_EQ(text, golden());
}

TEST(PrintProgram, SaysEqualLayersOnce) {
  const std::string few = print_program(tiny(6), {});
  const std::string many = print_program(tiny(60), {});

  EXPECT_EQ(std::count(few.begin(), few.end(), '\n'), std::count(many.begin(), many.end(), '\n'));
  EXPECT_THAT(many, HasSubstr("== forward, layer 0, and 58 more alike =="));
}

TEST(PrintProgram, ShowsWhereAnOverlapMovesAWait) {
  StepOptions off;
  off.overlap = {false, false, false, false};

  EXPECT_NE(print_program(tiny(3), {}), print_program(tiny(3), off));
}

}  // namespace
}  // namespace fourfold::tests
