// What the reader of platform files refuses, and that it says so in one sentence.
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
        Edit{"BareNumber", "crossbar", "{ value = 64, source = \"synthetic\" }", "64",
             "must be a number with its source"},
        Edit{"MarkThatIsNoMark", "crossbar", "source = \"synthetic\" }",
             "source = \"synthetic\", unconfirmed = \"yes\" }",
             "\"unconfirmed\" must be true or false"},
        Edit{"UnknownKeyOfAFact", "crossbar", "value = 64, source", "value = 64, sorce",
             "did you mean \"source\"?"},
        Edit{"UnknownKeyOfAnEntry", "crossbar", "{ size = 1000", "{ sise = 1000",
             "did you mean \"size\"?"},
        Edit{"KeyOfAnotherNetwork", "crossbar", "kind = \"crossbar\"",
             "kind = \"crossbar\"\ngroups = { value = 4, source = \"synthetic\" }",
             "unknown key \"network.groups\""},
        Edit{"UnknownNetwork", "frontier", "\"dragonfly\"", "\"dragonfy\"",
             "did you mean \"dragonfly\"?"},
        Edit{"MissingKey", "crossbar", "launch_overhead_us = { value = 2, source = \"synthetic\" }",
             "", "\"processor.launch_overhead_us\" is missing"},
        Edit{"NegativeBandwidth", "crossbar", "value = 1000, ", "value = -1000, ",
             "processor.memory_bandwidth_GBps is -1000, but it must be greater than 0"},
        Edit{"InfiniteMemory", "crossbar", "value = 64, ", "value = inf, ",
             "must be greater than 0"},
        Edit{"ReserveAboveAll", "crossbar", "value = 0.85", "value = 1.2", "at most 1"},
        Edit{"NoNodes", "crossbar", "value = 131072", "value = 0", "nodes is 0"},
        Edit{"HalfANode", "crossbar", "value = 131072", "value = 1.5", "must be a whole number"},
        Edit{"NoDevices", "crossbar", "devices = { value = 1,", "devices = { value = 0,",
             "node.devices is 0"},
        Edit{"LinkToNobody", "frontier", "{ a = 5, b = 7,", "{ a = 5, b = 8,",
             "the link 5-8 ends at device 8, but a node has devices 0 to 7"},
        Edit{"LinkToItself", "frontier", "{ a = 5, b = 7,", "{ a = 5, b = 5,",
             "joins a device with itself"},
        Edit{"LinkTwice", "frontier", "{ a = 5, b = 7,", "{ a = 6, b = 4,", "is given twice"},
        Edit{"NicOfNobody", "frontier", "devices = [2, 3]", "devices = []",
             "NIC 1 of a node serves no device"},
        Edit{"NicOfAStranger", "frontier", "devices = [2, 3]", "devices = [2, 9]",
             "NIC 1 serves device 9"},
        Edit{"DeviceWithoutNic", "frontier", "devices = [2, 3]", "devices = [2]",
             "device 3 of a node sends through 0 NICs"},
        Edit{"DescendingGemm", "frontier", "{ size = 6400,", "{ size = 640,",
             "processor.gemm must ascend in size, but 640 follows 3200"},
        Edit{"AttentionTwice", "crossbar", "[processor.gemm]",
             "[processor.attention]\nsource = \"synthetic\"\nentries = [\n"
             "  { sequence = 512, forward_Tflops = 1, backward_Tflops = 1 },\n"
             "  { sequence = 512, forward_Tflops = 2, backward_Tflops = 2 },\n]\n"
             "[processor.gemm]",
             "is 512, but rows must ascend"},
        Edit{"FasterThanThePeak", "frontier", "rate_Tflops = 119.8", "rate_Tflops = 219.8",
             "above the advertised peak of 191.5"},
        Edit{"MoreNodesThanRoom", "frontier", "groups = { value = 77", "groups = { value = 70",
             "9856 nodes do not fit in 70 groups of 128 nodes"},
        Edit{"DetoursThroughNowhere", "perlmutter", "global_detours = { value = 12",
             "global_detours = { value = 13", "13 global detours"},
        Edit{"NicsThatDoNotDivide", "dgx-h100", "rails = { value = 8", "rails = { value = 3",
             "the 8 NICs of a node do not divide over 3 rails"},
        Edit{"TierLeftOut", "dgx-h100", "{ tier = 2,", "{ tier = 3,",
             "is 3, but the next one is 2"},
        Edit{"TaperAboveTheRoot", "dgx-h100", "members = 16,",
             "members = 16, oversubscription = 2,", "nothing is above the last tier"},
        Edit{"HalfAMember", "dgx-h100", "members = 4,", "members = 4.5,", "must be a whole number"},
        Edit{"TreeTooSmall", "meta-24k-h100", "members = 192,", "members = 100,",
             "3072 nodes do not fit in a fat tree for 1600"},
        Edit{"RailsWithoutASpine", "jean-zay", "rails = { value = 1", "rails = { value = 4",
             "4 rails need a second tier"},
        Edit{"KeyOfATree", "torus", "kind = \"torus\"",
             "kind = \"torus\"\nrails = { value = 1, source = \"synthetic\" }",
             "unknown key \"network.rails\""},
        Edit{"TorusOfOne", "torus", "{ dimension = 3, routers = 16 }",
             "{ dimension = 3, routers = 1 }", "a dimension of 1 routers is none"},
        Edit{"PlateauOfTooMany", "perlmutter", "{ devices = 4, bus", "{ devices = 5, bus",
             "speaks of 5 devices per node, but a node has 4"},
        Edit{"NoPlateauOfAWholeNode", "perlmutter", "  { devices = 4, bus_bandwidth_GBps = 70.5 },",
             "", "library.across ends at 2 devices per node, but a node has 4"},
        Edit{"NoPlateauOfAllNeighbours", "alps", "  { devices = 4, bus_bandwidth_GBps = 321 },", "",
             "library.in_node ends at 2 devices per node, but a node has 4"},
        Edit{"PlateauAboveTheNics", "perlmutter", "bus_bandwidth_GBps = 70.5",
             "bus_bandwidth_GBps = 708",
             "gives 708 GB/s to 4 devices per node, but by node.nics no ring leaves a node faster "
             "than 95.2"},
        Edit{"PlateauAboveThePorts", "alps", "{ devices = 4, bus_bandwidth_GBps = 321 }",
             "{ devices = 4, bus_bandwidth_GBps = 3210 }",
             "library.in_node gives 3210 GB/s to 4 devices, but by node.links and "
             "node.switch_port_GBps no device sends faster than"},
        Edit{"MeasuredTwice", "perlmutter", "[library.across]",
             "[library.measured]\nsource = \"test\"\nentries = [\n"
             "  { kind = \"all-reduce\", members = 2, devices = 2, bytes = 64, time_us = 3 },\n"
             "  { kind = \"all-reduce\", members = 2, devices = 2, bytes = 64, time_us = 4 },\n]\n"
             "[library.across]",
             "is 64, but rows must ascend from 1 on"},
        Edit{"MoreNodesThanAnyMachineHas", "frontier", "nodes_per_group = { value = 128",
             "nodes_per_group = { value = 1e9", "to 1000000"},
        Edit{"PlateauAboveItsOneNic", "frontier", "{ devices = 1, bus_bandwidth_GBps = 10.8 }",
             "{ devices = 1, bus_bandwidth_GBps = 24 }", "gives 24 GB/s to 1 device per node"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fourfold::tests
