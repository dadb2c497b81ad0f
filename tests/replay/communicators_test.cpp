// Who is in which communicator: lines, pairs of neighbouring stages, the two ends of a pipeline.
#include "sim/replay/communicators.hpp"

#include <gtest/gtest.h>

#include <set>

namespace fourfold::tests {
namespace {

const std::vector<Channel>& channels() {
  static const std::vector<Channel> all{
      {Axis::x, ""},      {Axis::data, ""},   {Axis::pipe, ""},   {Axis::pipe, "ends", Group::ends},
      forward_from(0, 5), forward_from(1, 5), forward_from(4, 5), backward_from(1),
      backward_from(2),   backward_from(0),
  };
  return all;
}

std::vector<std::int64_t> members_of(const Communicators& communicators, std::int32_t number) {
  const ChannelNumber channel = communicators.channel(number);
  std::vector<std::int64_t> members;
  for (std::int32_t i = 0; i < communicators.members(channel); ++i) {
    members.push_back(communicators.first_member(number) + i * communicators.distance(channel));
  }
  return members;
}

TEST(Communicators, AreTheGroupsOfTheirChannels) {
  for (std::int64_t stages : {2, 3, 4, 5}) {
    const ProcessGrid grid(2, 1, 1, 3, stages);
    const Communicators communicators(grid, channels(), std::vector<bool>(channels().size(), true));
    for (std::size_t c = 0; c < channels().size(); ++c) {
      const auto channel = static_cast<ChannelNumber>(c);
      for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
        const std::vector<std::int64_t> expected = group(channels()[c], grid, rank);
        if (expected.empty()) continue;

        const std::int32_t number =
            communicators.communicator(channel, static_cast<std::int32_t>(rank));

        ASSERT_EQ(communicators.channel(number), channel);
        EXPECT_EQ(members_of(communicators, number), expected)
            << name(channels()[c]) << " rank " << rank << " of " << grid.str();
      }
    }
  }
}

// Pairs from even stages of five: 0 and 1, 2 and 3; the last stage has no partner.
TEST(Communicators, AreNumberedWithoutGaps) {
  const ProcessGrid grid(2, 1, 1, 1, 5);
  const Communicators communicators(grid, {forward_from(0, 5), {Axis::x, ""}}, {true, true});

  EXPECT_EQ(communicators.count(), 4 + 5);
  std::set<std::vector<std::int64_t>> groups;
  for (std::int32_t c = 0; c < 4; ++c) {
    EXPECT_EQ(communicators.channel(c), 0);
    groups.insert(members_of(communicators, c));
  }
  EXPECT_EQ(groups, (std::set<std::vector<std::int64_t>>{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
}

}  // namespace
}  // namespace fourfold::tests
