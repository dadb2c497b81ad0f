// What links are said to carry, by hand: bytes a channel, and utilisation where a link is slower
// than its kind.
#include "sim/replay/link_use.hpp"

#include <gtest/gtest.h>

#include "tests/platforms/machines_for_tests.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

TEST(SentByChannel, IsTheWorkOfEveryPostInEveryRepetition) {
  ProgramBuilder builder;
  const std::int32_t small = builder.collective(on::x, 1.0, 10.0, 1.0);
  const std::int32_t large = builder.collective(on::x, 1.0, 100.0, 1.0);
  const std::int32_t other = builder.collective(on::data, 1.0, 7.0, 1.0);
  builder.post(small);
  builder.wait(on::x, 0);
  builder.run(3);
  builder.post(large);
  builder.cycle(4);
  builder.post(other);
  builder.post(other);

  const std::vector<double> sent = sent_by_channel(builder.take()).front();

  EXPECT_DOUBLE_EQ(sent[on::x], 4 * (3 * 10.0 + 100.0));
  EXPECT_DOUBLE_EQ(sent[on::data], 2 * 7.0);
  EXPECT_DOUBLE_EQ(sent[on::y], 0.0);
}

class LinkUseTest : public OnFrontier {
 protected:
  std::vector<LinkUse> use(const LinkFaults& faults, Seconds step) const {
    return link_use(bytes, topology, FaultyLinks(faults, topology, platform), step);
  }

  std::vector<double> bytes = std::vector<double>(topology.link_count(), 0.0);
};

// NICs of 25 GB/s in a step of 2 s: 10 GB fill a fifth of a sound one, two fifths at half its
// speed, which is more than the 15 GB of a sound one.
TEST_F(LinkUseTest, ADegradedLinkIsFullerByWhatItIsSlower) {
  bytes[link("node 3 nic 1 out")] = 10e9;
  bytes[link("node 4 nic 1 in")] = 15e9;

  const std::vector<LinkUse> sound = use({}, {2.0});
  const std::vector<LinkUse> degraded = use({{{"nic:3.1", 0.5}}, {}}, {2.0});

  ASSERT_EQ(sound.size(), 1U);
  EXPECT_EQ(sound[0].busiest, "node 4 nic 1 in");
  EXPECT_DOUBLE_EQ(sound[0].busiest_utilisation, 0.3);
  EXPECT_DOUBLE_EQ(sound[0].mean_utilisation, 0.25);
  ASSERT_EQ(degraded.size(), 1U);
  EXPECT_EQ(degraded[0].links, 2);
  EXPECT_EQ(degraded[0].busiest, "node 3 nic 1 out");
  EXPECT_DOUBLE_EQ(degraded[0].busiest_utilisation, 0.4);
  EXPECT_DOUBLE_EQ(degraded[0].busiest_bytes.value, 10e9);
  EXPECT_DOUBLE_EQ(degraded[0].mean_utilisation, 0.35);
  EXPECT_DOUBLE_EQ(degraded[0].bytes.value, 25e9);
  EXPECT_DOUBLE_EQ(degraded[0].capacity.value, 25e9);  // of a sound one
}

// Of a node's links, all of one kind, those of 148, 76 and 38 GB/s.
TEST_F(LinkUseTest, LinksOfOneKindButOfDifferentWidthStandApart) {
  bytes[link("node 0 device 0 -> device 1")] = 148e9;
  bytes[link("node 1 device 1 -> device 0")] = 74e9;
  bytes[link("node 0 device 0 -> device 6")] = 19e9;

  const std::vector<LinkUse> all = use({}, {1.0});

  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].links, 2);
  EXPECT_DOUBLE_EQ(all[0].capacity.value, 148e9);
  EXPECT_DOUBLE_EQ(all[0].mean_utilisation, 0.75);
  EXPECT_EQ(all[1].links, 1);
  EXPECT_DOUBLE_EQ(all[1].mean_utilisation, 0.25);
}

TEST_F(LinkUseTest, TheMostUsedClassComesFirstAndIdleLinksAreLeftOut) {
  bytes[link("node 0 nic 0 out")] = 5e9;           // a fifth
  bytes[link("group 0 -> group 1")] = 50e9;        // a half
  bytes[link("node 0 device 0 -> device 1")] = 1;  // next to nothing

  const std::vector<LinkUse> all = use({}, {1.0});

  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].busiest, "group 0 -> group 1");
  EXPECT_EQ(all[1].busiest, "node 0 nic 0 out");
  for (const LinkUse& one : all) EXPECT_EQ(one.links, 1);
}

}  // namespace
}  // namespace fourfold::tests
