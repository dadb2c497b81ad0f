// What is refused as a dragonfly+: by the reader in one sentence, and by the topology built by
// hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "platforms/network/topology.hpp"
#include "tests/platforms/machines_for_tests.hpp"
#include "tests/platforms/platform_files.hpp"

namespace fourfold::tests {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string leonardo_with(const std::string& fact, const std::string& value) {
  const std::string key = fact.substr(0, fact.find(' '));
  return refusal(edited("leonardo", key + " = { value = " + fact.substr(fact.find(' ') + 1),
                        key + " = { value = " + value));
}

TEST(dragonfly_plus_refusal, more_nodes_than_the_cells_hold) {
  EXPECT_THAT(leonardo_with("cells 23", "19"),
              HasSubstr("3456 nodes do not fit in 19 cells of 180 nodes"));
  EXPECT_THAT(leonardo_with("nodes_per_cell 180", "150"),  // 6 nodes are left over, no whole cell
              HasSubstr("3456 nodes do not fit in 23 cells of 150 nodes"));
}

TEST(dragonfly_plus_refusal, leaves_without_nodes) {
  EXPECT_THAT(leonardo_with("leaves_per_cell 18", "181"),
              HasSubstr("181 leaves of a cell cannot all have one of its 180 nodes"));
}

TEST(dragonfly_plus_refusal, more_detours_than_other_cells) {
  EXPECT_THAT(leonardo_with("global_detours 12", "22"),
              HasSubstr("22 global detours need as many cells besides the two ends"));
}

TEST(dragonfly_plus_refusal, numbers_that_are_none) {
  EXPECT_THAT(leonardo_with("uplinks_per_leaf 18", "0"),
              HasSubstr("network.uplinks_per_leaf is 0"));
  EXPECT_THAT(leonardo_with("links_per_cell_pair 18", "1.5"), HasSubstr("must be a whole number"));
  EXPECT_THAT(leonardo_with("link_bandwidth_GBps 25", "-25"),
              HasSubstr("network.link_bandwidth_GBps is -25"));
}

TEST(dragonfly_plus_refusal, keys_of_a_dragonfly) {
  EXPECT_THAT(refusal(edited("leonardo", "\ncells = ", "\ngroups = ")),
              HasSubstr("unknown key \"network.groups\""));
  EXPECT_THAT(refusal(edited("leonardo", "\"dragonfly-plus\"", "\"dragonfly-puls\"")),
              EndsWith("did you mean \"dragonfly-plus\"?"));
}

Platform of(DragonflyPlusNetwork network, std::int64_t nodes) {
  Platform platform;
  platform.node = mesh_node(4, 100);
  platform.nodes = nodes;
  platform.network = network;
  return platform;
}

TEST(dragonfly_plus_refusal, topologies_that_cannot_be_built) {
  const BytesPerSecond link{25 * giga};

  EXPECT_THROW(Topology(of({4, 4, 16, 8, 8, link, link, 0}, 65), 65), std::invalid_argument);
  EXPECT_THROW(Topology(of({4, 0, 16, 8, 8, link, link, 0}, 4), 4), std::invalid_argument);
  EXPECT_THROW(Topology(of({4, 4, 16, 0, 8, link, link, 0}, 4), 4), std::invalid_argument);
}

}  // namespace
}  // namespace fourfold::tests
