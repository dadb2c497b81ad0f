// Messages between neighbouring stages: channels of pairs, each way and whatever transport is asked
// for, though every stage declares its own alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/apart_memory.hpp"
#include "tests/mpi/reference_line.hpp"

namespace fourfold::tests {
namespace {

// What a stage sends and receives on, and nothing else.
std::vector<Channel> channels_of(std::int64_t stage, std::int64_t stages) {
  std::vector<Channel> list{{Axis::x, ""}};
  const auto add = [&](const Channel& channel) {
    if (std::ranges::find(list, channel) == list.end()) list.push_back(channel);
  };
  add(forward_from(stage, stages));
  add(forward_from((stage + stages - 1) % stages, stages));
  add(backward_from(stage));
  add(backward_from((stage + 1) % stages));
  if (stage == 0 || stage + 1 == stages) add({Axis::pipe, "ends", Group::ends});
  return list;
}

// The device's block with these bytes in it.
DeviceBlock on_device(DeviceMemory& memory, const Buffer& buffer) {
  DeviceBlock block = memory.allocate(static_cast<std::int64_t>(buffer.bytes.size()));
  memory.copy_in(block.data(), buffer.bytes.data(), block.bytes());
  return block;
}

// Every stage sends its number to the next stage, or to the one before, three times.
void expect_neighbours_numbers(TransportKind transport, DeviceMemory& memory) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  const std::int64_t stages = ranks;
  const std::int64_t rank = rank_in(MPI_COMM_WORLD);
  Channels channels({1, 1, 1, 1, stages}, channels_of(rank, stages), transport, ProgressMode::none,
                    memory);
  for (const bool forward : {true, false}) {
    const std::int64_t from = forward ? (rank + stages - 1) % stages : (rank + 1) % stages;
    const auto channel_of = [&](std::int64_t sender) {
      return forward ? forward_from(sender, stages) : backward_from(sender);
    };
    for (std::int64_t elements : {1, 200'000}) {
      Buffer own(elements, Precision::fp32), got(elements, Precision::fp32);
      for (std::int64_t i = 0; i < elements; ++i) own.set(i, contribution(rank, i, own.precision));
      const DeviceBlock sent = on_device(memory, own), received = on_device(memory, got);
      Tensor send = own.tensor(), receive = got.tensor();
      send.data = sent.data();
      receive.data = received.data();

      const Post post =
          channels[channel_of(from)].start({CollectiveKind::send, Owed::sum, receive, receive});
      const Post own_post =
          channels[channel_of(rank)].start({CollectiveKind::send, Owed::sum, send, send});
      channels[channel_of(from)].finish(post);
      channels[channel_of(rank)].finish(own_post);

      memory.copy_out(got.bytes.data(), received.data(), received.bytes());
      for (std::int64_t i = 0; i < elements; ++i) {
        ASSERT_EQ(got.at(i), contribution(from, i, got.precision)) << "from stage " << from;
      }
      memory.copy_out(got.bytes.data(), sent.data(), sent.bytes());
      EXPECT_EQ(got.bytes, own.bytes) << "what was sent is as it was";
    }
  }
}

TEST(Messages, ComeFromTheNeighbourOverEveryTransport) {
  if (size_of(MPI_COMM_WORLD) == 1) return;  // nobody to send to
  for (TransportKind transport : all_transports) {
    expect_neighbours_numbers(transport, host_memory());
  }
  ApartMemory apart;
  expect_neighbours_numbers(TransportKind::ring, apart);
}

TEST(Messages, LeaveOutRanksOfOtherPairs) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  const std::int64_t rank = rank_in(MPI_COMM_WORLD);
  if (ranks < 4) return;  // all are in every pair
  const std::int64_t stages = ranks;
  Channels channels({1, 1, 1, 1, stages}, channels_of(rank, stages), TransportKind::ring,
                    ProgressMode::none, host_memory());
  const Channel odd = forward_from(1, stages);
  const Channel ends{Axis::pipe, "ends", Group::ends};
  const bool at_an_end = rank == 0 || rank + 1 == stages;

  EXPECT_THAT(channels.list(), testing::IsSupersetOf({odd, ends, Channel{Axis::x, ""}}));
  if (at_an_end) {
    EXPECT_EQ(channels[ends].position(), rank == 0 ? 0 : 1);
    EXPECT_THROW(channels[odd], std::invalid_argument);
  } else {
    EXPECT_EQ(channels[odd].size(), 2);
    EXPECT_EQ(channels[odd].position(), rank % 2 == 1 ? 0 : 1);
    EXPECT_THROW(channels[ends], std::invalid_argument);
  }
}

TEST(Messages, JoinTwoMembers) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  if (ranks == 2) return;
  Channels channels({ranks, 1, 1, 1}, made_up_channels(), TransportKind::library,
                    ProgressMode::none, host_memory());
  Buffer buffer(3, Precision::fp32);

  EXPECT_THROW(channels[(Channel{Axis::x, ""})].start(
                   {CollectiveKind::send, Owed::sum, buffer.tensor(), buffer.tensor()}),
               std::invalid_argument);
}

}  // namespace
}  // namespace fourfold::tests
