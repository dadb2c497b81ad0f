// What messages load: their way through the machine, and only in their direction.
#include <gtest/gtest.h>

#include "sim/replay/strands.hpp"
#include "tests/replay/cases.hpp"

namespace fourfold::tests {
namespace {

void expect_same(const Footprint& a, const Footprint& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].link, b[i].link) << what;
    EXPECT_NEAR(a[i].share, b[i].share, 1e-12) << what;
  }
}

TEST(Messages, ThereAndBackLoadWhatARingOfTwoLoads) {
  for (const char* name : {"crossbar", "crossbar-shared", "perlmutter", "polaris", "frontier",
                           "alps", "dgx-h100", "summit"}) {
    const Platform& platform = platform_named(name);
    const Topology topology(platform, 12, 2);
    for (std::int64_t from : {0, 1, 3}) {
      for (std::int64_t to = from + 1; to < topology.devices(); to += 5) {
        Footprint both = message_footprint(topology, platform, {from, to}, 1);
        const Footprint back = message_footprint(topology, platform, {to, from}, 1);

        EXPECT_FALSE(both.empty());
        both.insert(both.end(), back.begin(), back.end());
        merge(both);
        expect_same(both, topology.ring_footprint({from, to}, 1),
                    std::string(name) + " " + std::to_string(from) + " " + std::to_string(to));
      }
    }
  }
}

// The port out of the sender and the port into the receiver, whoever has the lower number.
TEST(Messages, LeaveTheSenderAndEnterTheReceiver) {
  const Platform& platform = platform_named("crossbar-shared");
  const Topology topology(platform, 8);

  for (const MessageEnds ends : {MessageEnds{2, 5}, MessageEnds{5, 2}}) {
    const Footprint load = message_footprint(topology, platform, ends, 0);

    ASSERT_EQ(load.size(), 2U);
    std::vector<std::string> names{topology.link_name(load[0].link),
                                   topology.link_name(load[1].link)};
    std::ranges::sort(names);
    std::vector<std::string> expected{"device " + std::to_string(ends.from) + " out",
                                      "device " + std::to_string(ends.to) + " in"};
    std::ranges::sort(expected);
    EXPECT_EQ(names, expected);
  }
}

TEST(Messages, AreOneStrandFromSenderToReceiver) {
  for (const char* name : {"crossbar", "perlmutter", "dgx-h100", "summit"}) {
    const Platform& platform = platform_named(name);
    const Topology topology(platform, 4);

    const std::vector<Strand> strands = message_strands(topology, platform, {1, 0}, 0);

    ASSERT_EQ(strands.size(), 1U) << name;
    EXPECT_EQ(strands[0].from, 1);
    EXPECT_EQ(strands[0].to, 0);
    EXPECT_EQ(strands[0].share, 1.0);
    EXPECT_FALSE(strands[0].links.empty());
  }
}

}  // namespace
}  // namespace fourfold::tests
