// Where the numbers of a platform file may end: the last one that is taken, the first one that is
// not; and what factors may do to them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/file/fact_table.hpp"
#include "platforms/file/notice.hpp"
#include "platforms/network/topology.hpp"
#include "tests/platforms/platform_files.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

struct End {
  const char* platform;
  const char* from;
  const char* taken;    // instead of `from`
  const char* refused;  // instead of `from`
};

class RangesOfAPlatform : public ::testing::TestWithParam<End> {};

TEST_P(RangesOfAPlatform, EndWhereTheySay) {
  const End& end = GetParam();

  EXPECT_EQ(refusal(edited(end.platform, end.from, end.taken)), "(accepted)");
  EXPECT_NE(refusal(edited(end.platform, end.from, end.refused)), "(accepted)");
}

INSTANTIATE_TEST_SUITE_P(
    All, RangesOfAPlatform,
    ::testing::Values(End{"crossbar", "launch_overhead_us = { value = 2",
                          "launch_overhead_us = { value = 0", "launch_overhead_us = { value = -1"},
                      End{"crossbar", "usable_memory = { value = 0.85",
                          "usable_memory = { value = 1", "usable_memory = { value = 1.01"},
                      End{"crossbar", "usable_memory = { value = 0.85",
                          "usable_memory = { value = 0.01", "usable_memory = { value = 0"},
                      End{"frontier", "global_detours = { value = 32",
                          "global_detours = { value = 75", "global_detours = { value = 76"},
                      End{"frontier", "local_detours = { value = 15",
                          "local_detours = { value = 30", "local_detours = { value = 31"},
                      End{"frontier", "{ stride = 2, devices = 4,", "{ stride = 2, devices = 4,",
                          "{ stride = 2, devices = 5,"},
                      End{"torus", "{ dimension = 3, routers = 16 }",
                          "{ dimension = 3, routers = 16 }", "{ dimension = 3, routers = 15 }"}));

TEST(Units, LabelsOfEntriesAreNumbers) {
  EXPECT_EQ(without_label("processor.gemm.6400.rate_Tflops"), "processor.gemm.rate_Tflops");
  EXPECT_EQ(without_label("node.links.0-1.bandwidth_GBps"), "node.links.bandwidth_GBps");
  EXPECT_EQ(without_label("library.simple.hop_across_us"), "library.simple.hop_across_us");
  EXPECT_EQ(without_label("nodes"), "nodes");
  EXPECT_EQ(without_label("node.devices"), "node.devices");
}

double gemm_rate(const Scales& scales) {
  return read_platform("crossbar", scales).processor.gemm.front().rate.value;
}

TEST(Scaling, OfAnEntryAndOfItsListMultiply) {
  const Platform crossbar = read_platform("crossbar");
  const std::string one =
      fmt::format("processor.gemm.{}.rate_Tflops", crossbar.processor.gemm.front().size);
  const double plain = gemm_rate({});

  EXPECT_DOUBLE_EQ(gemm_rate({{one, 0.5}}), 0.5 * plain);
  EXPECT_DOUBLE_EQ(gemm_rate({{"processor.gemm.rate_Tflops", 0.5}}), 0.5 * plain);
  EXPECT_DOUBLE_EQ(gemm_rate({{one, 0.5}, {"processor.gemm.rate_Tflops", 0.5}}), 0.25 * plain);
}

TEST(Scaling, OfGlobalBandwidthReachesTheTopmostLinks) {
  const Scales half{{"network.global_bandwidth", 0.5}};
  const auto cells = [](const Scales& scales) {
    return std::get<DragonflyPlusNetwork>(read_platform("leonardo", scales).network);
  };
  EXPECT_EQ(cells(half).link_bandwidth, cells({}).link_bandwidth);
  EXPECT_EQ(cells(half).global_link_bandwidth.value, 0.5 * cells({}).global_link_bandwidth.value);
  EXPECT_THAT(refusal("crossbar", half), HasSubstr("no global links to scale"));
}

TEST(Names, OfNetworksAndLinksAreKept) {
  EXPECT_EQ(kind_in_words(read_platform("frontier").network), "dragonfly");
  EXPECT_EQ(kind_in_words(read_platform("leonardo").network), "dragonfly+");
  EXPECT_EQ(kind_in_words(read_platform("selene").network), "fat tree");
  EXPECT_EQ(kind_in_words(read_platform("torus").network), "torus");
  EXPECT_EQ(kind_in_words(read_platform("crossbar").network), "crossbar");
  for (const auto& [machine, global] : {std::pair{"frontier", true},
                                        {"leonardo", true},
                                        {"selene", true},
                                        {"torus", false},
                                        {"crossbar", false}}) {
    EXPECT_EQ(has_global_links(read_platform(machine).network), global) << machine;
  }
}

TEST(Footprints, AreMergedByLink) {
  Footprint footprint{{7, 0.25}, {3, 1.0}, {7, 0.5}, {1, 0.125}, {3, 1.0}};

  merge(footprint);

  ASSERT_EQ(footprint.size(), 3U);
  EXPECT_EQ(footprint[0].link, 1);
  EXPECT_EQ(footprint[1].share, 2.0);
  EXPECT_EQ(footprint[2].share, 0.75);
}

}  // namespace
}  // namespace fourfold::tests
