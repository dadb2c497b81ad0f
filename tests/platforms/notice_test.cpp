// What is said about files that leave something open, and that little is said about most.
#include "platforms/file/notice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/show/show.hpp"
#include "tests/platforms/platform_files.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Notices, AreMadeForOneShippedMachine) {
  for (const std::string& name : known_platforms()) {
    EXPECT_EQ(notices(read_platform(name)).empty(), name != "jean-zay") << name;
  }
}

TEST(Notices, SayFromWhichRowTheRestIsTaken) {
  const Platform jean_zay = read_platform("jean-zay");

  EXPECT_THAT(notices(jean_zay),
              ElementsAre("library.across of jean-zay starts at 8 devices per node: groups with "
                          "fewer are given the same 16.9 GB/s, or what the links allow if that is "
                          "less"));
  EXPECT_THAT(show_platform(jean_zay), HasSubstr("note: library.across of jean-zay starts at 8"));
  EXPECT_THAT(show_platform_json(jean_zay), HasSubstr("starts at 8 devices per node"));
}

// 217 GB/s inside a node would carry the 33.6 of one NIC's ring on to the others.
TEST(Notices, DoubtARateThatFallsWithMoreDevices) {
  const Platform falling =
      read_platform(edited("perlmutter", "bus_bandwidth_GBps = 70.5", "bus_bandwidth_GBps = 10"));

  EXPECT_THAT(notices(falling),
              ElementsAre(HasSubstr("falls from 33.6 GB/s with 2 devices per node to 10 with 4, "
                                    "though 4 inside a node reach 217")));
}

// Where the inside of a node carries less than the NICs, more devices per node are slower.
TEST(Notices, BelieveARateThatTheInsideOfANodeHoldsDown) {
  const Platform slow_inside =
      read_platform(edited("perlmutter", "bus_bandwidth_GBps = 70.5", "bus_bandwidth_GBps = 10"),
                    {{"library.in_node.4.bus_bandwidth_GBps", 0.1}});

  EXPECT_THAT(notices(slow_inside), IsEmpty());
}

}  // namespace
}  // namespace fourfold::tests
