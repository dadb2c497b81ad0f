// What the reader of platform files refuses beside the edges of numbers (edges_test.cpp), and that
// it says so in one sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/platforms/platform_files.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Refusals, UnknownPlatformNamesTheNearest) {
  EXPECT_EQ(refusal("fronteir"), "unknown platform \"fronteir\"; did you mean \"frontier\"?");
}

TEST(Refusals, MissingFileAndBrokenFile) {
  const auto broken = scratch("broken.toml");
  std::ofstream(broken) << "title = \n";

  EXPECT_THAT(refusal("/nowhere/mine.toml"), HasSubstr("no platform file"));
  EXPECT_THAT(refusal(broken.string()), HasSubstr("broken.toml, line 1: this is not TOML"));
}

TEST(Refusals, UnknownKeyNamesFileLineAndTheNearest) {
  const std::string path = edited("crossbar", "memory_GB =", "memroy_GB =");

  EXPECT_EQ(refusal(path), path +
                               ", line 14: unknown key \"processor.memroy_GB\"; did you mean "
                               "\"memory_GB\"?");
}

struct Edit {
  std::string name;
  std::string platform;
  std::string from;
  std::string to;
  std::string sentence;
};

class Impossible : public ::testing::TestWithParam<Edit> {};

TEST_P(Impossible, IsRefusedInOneSentence) {
  const Edit& edit = GetParam();
  const std::string path = edited(edit.platform, edit.from, edit.to);

  const std::string sentence = refusal(path);

  EXPECT_THAT(sentence, AllOf(HasSubstr(edit.sentence), HasSubstr(path), Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    All, Impossible,
    ::testing::Values(
        Edit{"NoSource", "crossbar", "value = 64, source = \"synthetic\"", "value = 64",
             "processor.memory_GB has no source"},
        Edit{"EmptySource", "crossbar", "value = 64, source = \"synthetic\"",
             "value = 64, source = \"\"", "processor.memory_GB has no source"},
        Edit{"ListWithoutSource", "crossbar", "[processor.gemm]\nsource = \"synthetic\"",
             "[processor.gemm]", "rate_Tflops has no source"},
        Edit{"MarkThatIsNoMark", "crossbar", "source = \"synthetic\" }",
             "source = \"synthetic\", unconfirmed = \"yes\" }",
             "\"unconfirmed\" must be true or false"},
        Edit{"UnknownKeyOfAFact", "crossbar", "value = 64, source", "value = 64, sorce",
             "did you mean \"source\"?"},
        Edit{"KeyOfAnotherNetwork", "crossbar", "kind = \"crossbar\"",
             "kind = \"crossbar\"\ngroups = { value = 4, source = \"synthetic\" }",
             "unknown key \"network.groups\""},
        Edit{"NegativeBandwidth", "crossbar", "value = 1000, ", "value = -1000, ",
             "processor.memory_bandwidth_GBps is -1000, but it must be greater than 0"},
        Edit{"KeyOfATree", "torus", "kind = \"torus\"",
             "kind = \"torus\"\nrails = { value = 1, source = \"synthetic\" }",
             "unknown key \"network.rails\""},
        Edit{"TorusOfOne", "torus", "{ dimension = 3, routers = 16 }",
             "{ dimension = 3, routers = 1 }", "a dimension of 1 routers is none"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fourfold::tests
