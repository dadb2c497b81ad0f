// What the reader of platform files takes and refuses of shipped files that are edited in one
// place, beside the edges of a written machine (edges_test.cpp), and that it says so in one
// sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/platforms/platform_files.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Refusals, UnknownPlatformNamesTheNearest) {
  EXPECT_EQ(refusal("fronteir"), "unknown platform \"fronteir\"; did you mean \"frontier\"?");
  EXPECT_EQ(refusal("nowhere.toml"), "there is no platform file \"nowhere.toml\"");
  EXPECT_THAT(refusal("/nowhere/mine.toml"), HasSubstr("no platform file"));
}

TEST(Refusals, UnknownKeyNamesFileLineAndTheNearest) {
  const std::string path = edited("crossbar", "memory_GB =", "memroy_GB =");

  EXPECT_EQ(refusal(path), path +
                               ", line 14: unknown key \"processor.memroy_GB\"; did you mean "
                               "\"memory_GB\"?");
}

TEST(Refusals, AreOneSentenceThatNamesTheFile) {
  struct Edit {
    std::string platform, from, to, words;  // no words where it is taken
  };
  const std::vector<Edit> all{
      {"crossbar", "value = 64, source = \"synthetic\"", "value = 64, source = \"\"",
       "processor.memory_GB has no source"},
      {"crossbar", "[processor.gemm]\nsource = \"synthetic\"", "[processor.gemm]",
       "rate_Tflops has no source"},
      {"crossbar", "source = \"synthetic\" }", "source = \"synthetic\", unconfirmed = \"yes\" }",
       "\"unconfirmed\" must be true or false"},
      {"crossbar", "value = 64, source", "value = 64, sorce", "did you mean \"source\"?"},
      {"crossbar", "kind = \"crossbar\"",
       "kind = \"crossbar\"\ngroups = { value = 4, source = \"synthetic\" }",
       "unknown key \"network.groups\""},
      {"torus", "kind = \"torus\"",
       "kind = \"torus\"\nrails = { value = 1, source = \"synthetic\" }",
       "unknown key \"network.rails\""},
      {"torus", "{ dimension = 3, routers = 16 }", "{ dimension = 3, routers = 1 }",
       "a dimension of 1 routers is none"},
      {"torus", "{ dimension = 3, routers = 16 }", "{ dimension = 3, routers = 15 }", "not fit"},
      {"crossbar", "launch_overhead_us = { value = 2", "launch_overhead_us = { value = 0", ""},
      {"crossbar", "launch_overhead_us = { value = 2", "launch_overhead_us = { value = -1",
       "is -1"},
      {"crossbar", "usable_memory = { value = 0.85", "usable_memory = { value = 1", ""},
      {"crossbar", "usable_memory = { value = 0.85", "usable_memory = { value = 1.01", "is 1.01"},
      {"crossbar", "usable_memory = { value = 0.85", "usable_memory = { value = 0.01", ""},
      {"crossbar", "usable_memory = { value = 0.85", "usable_memory = { value = 0", "is 0, but"}};
  for (const auto& [platform, from, to, words] : all) {
    const std::string path = edited(platform, from, to), sentence = refusal(path);
    if (words.empty()) {
      EXPECT_EQ(sentence, "(accepted)") << to;
    } else {
      EXPECT_THAT(sentence, AllOf(HasSubstr(words), HasSubstr(path), Not(HasSubstr("\n")))) << to;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
