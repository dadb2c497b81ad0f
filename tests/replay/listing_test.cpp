// What the listing tells the witness about a step.
#include "sim/replay/listing.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

// Around a ring of four a gather goes three steps, an all-reduce six. The axis x has nobody to talk
// to; ranks 0, 2, 4 and 6 are one line along z, and 0 and 1 one along y.
TEST(Listing, NamesCostsStepsAndRingsOfEveryGroupAndEachOperationOfAllRanks) {
  ProgramBuilder builder;
  const std::int32_t gather =
      builder.collective(on::z_gather, 0.5, 1000.0, 16.0, CollectiveKind::all_gather);
  const std::int32_t reduce = builder.collective(on::y, 0.25, 64.0, 8.0);
  const std::int32_t idle = builder.collective(on::x, 1.0, 1.0, 1.0);
  builder.post(gather);
  builder.run(1);
  builder.post(gather);
  builder.compute(2.0);
  builder.post(reduce);
  builder.post(idle);
  builder.wait(on::z_gather, 1);
  builder.wait(on::y, 0);
  builder.run(2);
  builder.compute(4.0);
  const TimedProgram program = builder.take();

  const std::string text = listing(program, ProcessGrid(1, 2, 4, 1), read_platform("crossbar"),
                                   {1, 1, 1, 1.5, 1, 1, 1, 1});

  EXPECT_EQ(text,
            "ranks 8\n"
            "class 0 0.5 1000 16 3\n"
            "class 1 0.25 64 8 2\n"
            "ring y 1 0 1\n"
            "ring y 1 2 3\n"
            "ring y 1 4 5\n"
            "ring y 1 6 7\n"
            "ring z_gather 1 0 2 4 6\n"
            "ring z_gather 1 1 3 5 7\n"
            "pace 3 1\n"
            "post z_gather 0\n"
            "post z_gather 0\n"
            "compute 2 3\n"
            "post y 1\n"
            "wait z_gather 0\n"
            "wait y 0\n"
            "post z_gather 0\n"
            "compute 2 3\n"
            "post y 1\n"
            "wait z_gather 1\n"
            "wait y 1\n"
            "compute 4 6\n");
}

// On nodes of four devices that are all joined: rings along x pass all four of a node, several
// times over in parts that make a whole; those along y join one device of each node.
TEST(Listing, NamesTheRingsOfANodeInPartsThatMakeAWhole) {
  ProgramBuilder builder;
  for (ChannelNumber channel : {on::x, on::y}) {
    builder.post(builder.collective(channel, 0.5, 1024.0, 4096.0));
    builder.wait(channel, 0);
  }
  std::istringstream lines(
      listing(builder.take(), ProcessGrid(4, 2, 1, 2), read_platform("perlmutter")));
  std::map<std::set<std::int64_t>, double> parts;  // by members
  std::int64_t rings_in_nodes = 0;

  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, channel;
    double share = 0.0;
    words >> word >> channel >> share;
    if (word != "ring") continue;
    std::set<std::int64_t> members;
    for (std::int64_t rank; words >> rank;) EXPECT_TRUE(members.insert(rank).second) << line;
    EXPECT_EQ(members.size(), channel == "x" ? 4U : 2U) << line;
    if (channel == "x") ++rings_in_nodes;
    parts[members] += share;
  }

  ASSERT_EQ(parts.size(), 4U + 8);
  EXPECT_GT(rings_in_nodes, 4);
  for (const auto& [members, share] : parts) EXPECT_NEAR(share, 1.0, 1e-12);
  for (std::int64_t node : {0, 1, 2, 3}) {
    EXPECT_TRUE(parts.contains({4 * node, 4 * node + 1, 4 * node + 2, 4 * node + 3})) << node;
  }
  for (std::int64_t rank : {0, 1, 2, 3, 8, 9, 10, 11}) {
    EXPECT_TRUE(parts.contains({rank, rank + 4})) << rank;
  }
}

}  // namespace
}  // namespace fourfold::tests
