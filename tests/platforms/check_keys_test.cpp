// Files with several wrong keys: one run names them all, each once, where it stands.
#include "platforms/file/check_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/platforms/platform_files.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What is said about a file of this text.
std::string complaint(const std::string& text) {
  return refusal<std::runtime_error>([&] { check_keys("mine.toml", toml::parse(text)); });
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  ASSERT_NE(place, std::string::npos) << from;
  text.replace(place, from.size(), to);
}

TEST(CheckKeys, NamesAllThatIsWrongInTheOrderOfTheFile) {
  std::string text = shipped_text("crossbar");
  replace(text, "memory_GB =", "memroy_GB =");
  replace(text, "{ size = 1000", "{ sise = 1000");
  replace(text, "launch_overhead_us = { value = 2, source = \"synthetic\" }", "");
  replace(text, "[library.low_latency]", "[library.lowlatency]");

  const std::string said = complaint(text);

  EXPECT_THAT(said, HasSubstr("mine.toml: 4 keys are unknown or missing\n  line "));
  const std::vector<std::string> expected{
      "\"processor.launch_overhead_us\" is missing\n",
      "unknown key \"processor.memroy_GB\"; did you mean \"memory_GB\"?\n",
      "unknown key \"processor.gemm.sise\"; did you mean \"size\"?\n",
      "unknown key \"library.lowlatency\"; did you mean \"low_latency\"?\n"};
  std::size_t place = 0;
  for (const std::string& sentence : expected) {
    place = said.find(sentence, place);
    ASSERT_NE(place, std::string::npos) << sentence << " in order in " << said;
  }
  EXPECT_THAT(said, HasSubstr("`fourfold platforms template`"));
}

TEST(CheckKeys, TakesAMisspeltTableForOneMistake) {
  std::string text = shipped_text("frontier");
  replace(text, "[library.across]", "[library.acros]");

  EXPECT_THAT(complaint(text),
              HasSubstr("unknown key \"library.acros\"; did you mean \"across\"?"));
  EXPECT_THAT(complaint(text), Not(HasSubstr("missing")));
}

TEST(CheckKeys, AsksForEveryTableOfAnEmptyFile) {
  const std::string said = complaint("");

  for (const char* name : {"title", "nodes", "processor", "node", "network", "library"}) {
    EXPECT_THAT(said, HasSubstr("\"" + std::string(name) + "\" is missing")) << said;
  }
}

TEST(CheckKeys, LeavesTheKeysOfAnUnknownNetworkAlone) {
  std::string text = shipped_text("frontier");
  replace(text, "\"dragonfly\"", "\"dragonfy\"");

  EXPECT_THAT(complaint(text),
              HasSubstr("network.kind cannot be \"dragonfy\"; did you mean \"dragonfly\"?"));
  EXPECT_THAT(complaint(text), Not(HasSubstr("network.groups")));
}

TEST(CheckKeys, AsksForTheKindOfANetwork) {
  std::string text = shipped_text("frontier");
  replace(text, "kind = \"dragonfly\"\n", "");

  EXPECT_THAT(complaint(text), HasSubstr("\"network.kind\" is missing"));
}

}  // namespace
}  // namespace fourfold::tests
