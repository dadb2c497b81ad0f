// In how many nodes a packed group lies, against the numbers of its devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schedule/collectives/collective.hpp"

namespace fourfold::tests {
namespace {

std::int64_t nodes_of(std::int64_t first, GroupShape shape, std::int64_t devices_per_node) {
  std::set<std::int64_t> nodes;
  for (std::int64_t i = 0; i < shape.members; ++i) {
    nodes.insert((first + i * shape.stride) / devices_per_node);
  }
  return static_cast<std::int64_t>(nodes.size());
}

// The groups whose devices interleave from device 0 on; the one that lies in most nodes counts.
TEST(PackedGroup, LiesInTheNodesOfItsDevices) {
  for (const std::int64_t per_node : {1, 4, 6, 8, 12}) {
    for (std::int64_t members = 1; members <= 40; ++members) {
      for (std::int64_t stride = 1; stride <= 40; ++stride) {
        const GroupShape shape = packed_group(members, stride, per_node);
        std::int64_t most = 0;
        for (std::int64_t first = 0; first < stride; ++first) {
          most = std::max(most, nodes_of(first, shape, per_node));
        }

        ASSERT_EQ(shape.members, members);
        ASSERT_EQ(shape.stride, stride);
        ASSERT_EQ(shape.nodes, most)
            << members << " members, " << stride << " apart, on nodes of " << per_node;
      }
    }
  }
}

TEST(PackedGroup, WhoseSpanIsNoMultipleOfANodeTakesTheNodeItBegins) {
  EXPECT_EQ(packed_group(9, 1, 8).nodes, 2);
  EXPECT_EQ(packed_group(6, 2, 8).nodes, 2);
  EXPECT_EQ(packed_group(3, 3, 8).nodes, 2);  // devices 2, 5 and 8
  EXPECT_EQ(packed_group(5, 5, 8).nodes, 4);  // devices 4, 9, 14, 19 and 24
  EXPECT_EQ(packed_group(2, 4, 8).nodes, 1);
  EXPECT_EQ(packed_group(2, 8, 8).nodes, 2);
  EXPECT_EQ(packed_group(3, 12, 8).nodes, 3);
}

}  // namespace
}  // namespace fourfold::tests
