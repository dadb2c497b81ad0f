// Collectives of a device whose memory MPI does not reach: the same bits, and every byte that goes
// through the host is counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/mpi/channels.hpp"
#include "engine/mpi/handles.hpp"
#include "tests/apart_memory.hpp"
#include "tests/mpi/reference_line.hpp"

namespace fourfold::tests {
namespace {

constexpr std::array<CollectiveKind, 3> kinds{
    CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce};

// A trial's operands on a device.
struct OnDevice {
  OnDevice(DeviceMemory& memory, const Trial& trial)
      : device(memory),
        send(memory.allocate(trial.call.send.bytes())),
        receive(memory.allocate(trial.call.receive.bytes())),
        call(trial.call) {
    call.send.data = send.data();
    call.receive.data = receive.data();
    memory.copy_in(send.data(), trial.send.bytes.data(), send.bytes());
  }
  bool holds(const Buffer& expected) {
    std::vector<std::byte> bytes(expected.bytes.size());
    device.copy_out(bytes.data(), receive.data(), receive.bytes());
    return bytes == expected.bytes;
  }

  DeviceMemory& device;
  DeviceBlock send, receive;
  CollectiveCall call;
};

// What a member of a ring sends and receives; see tests/mpi/traffic_test.cpp.
std::int64_t moved_by(CollectiveKind kind, std::int64_t elements, std::int64_t members,
                      std::int64_t position) {
  const auto chunk = [&](std::int64_t member) {
    return ring_chunk(elements, members, (member + members) % members).elements;
  };
  if (members == 1) return 0;
  const std::int64_t scatter = 2 * elements - chunk(position) - chunk(position - 1);
  const std::int64_t gather = 2 * elements - chunk(position + 1) - chunk(position);
  if (kind == CollectiveKind::reduce_scatter) return scatter;
  return kind == CollectiveKind::all_gather ? gather : scatter + gather;
}

TEST(Staging, OfRingsIsWhatTheySendAndReceive) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  ApartMemory memory;
  Channels channels(ProcessGrid(ranks, 1, 1, 1), all_channels(), TransportKind::ring,
                    ProgressMode::none, memory);
  Communicator& channel = channels[{Axis::x, ""}];
  for (std::int64_t elements :
       {std::int64_t{0}, std::int64_t{1}, ranks + 1, std::int64_t{1009}, std::int64_t{600011}}) {
    for (CollectiveKind kind : kinds) {
      for (Precision precision : {Precision::fp32, Precision::bf16}) {
        const Trial trial(kind, Owed::sum, precision, elements, ranks, channel.position());
        OnDevice operands(memory, trial);
        const std::int64_t before = channels.staged_bytes();

        channel.finish(channel.start(operands.call));

        EXPECT_TRUE(operands.holds(trial.expected)) << name(kind) << " of " << elements;
        EXPECT_EQ(
            channels.staged_bytes() - before,
            moved_by(kind, elements, ranks, channel.position()) * bytes_per_element(precision))
            << name(kind) << " of " << elements;
      }
    }
  }
}

TEST(Staging, OfTheLibraryIsEveryOperandOnce) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  ApartMemory memory;
  Channels channels(ProcessGrid(ranks, 1, 1, 1), all_channels(), TransportKind::library,
                    ProgressMode::none, memory);
  Communicator& channel = channels[{Axis::x, ""}];
  constexpr std::int64_t elements = 1009;
  for (CollectiveKind kind : kinds) {
    const Trial trial(kind, Owed::max, Precision::bf16, elements, ranks, channel.position());
    OnDevice operands(memory, trial);
    const std::int64_t before = channels.staged_bytes();

    channel.finish(channel.start(operands.call));

    EXPECT_TRUE(operands.holds(trial.expected)) << name(kind);
    const std::int64_t own = ring_chunk(elements, ranks, channel.position()).elements;
    const std::int64_t both = kind == CollectiveKind::all_reduce ? 2 * elements : elements + own;
    EXPECT_EQ(channels.staged_bytes() - before, ranks == 1 ? 0 : 2 * both) << name(kind);
  }
}

// MPI gets the device's addresses, and only when the device is through with them.
TEST(Staging, IsNotNeededWhereMpiReachesTheDevice) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  ApartMemory memory(MemoryReach::mpi);
  for (TransportKind transport : {TransportKind::ring, TransportKind::library}) {
    Channels channels(ProcessGrid(1, 1, 1, ranks), all_channels(), transport, ProgressMode::none,
                      memory);
    Communicator& channel = channels[{Axis::data, ""}];
    for (CollectiveKind kind : kinds) {
      const Trial trial(kind, Owed::max, Precision::fp32, 1009, ranks, channel.position());
      OnDevice operands(memory, trial);

      channel.finish(channel.start(operands.call));

      EXPECT_TRUE(operands.holds(trial.expected)) << name(transport) << " " << name(kind);
    }
    EXPECT_EQ(channels.staged_bytes(), 0);
  }
}

TEST(Staging, DoesNotHelpAWindowWhichIsRefused) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  for (MemoryReach reach : {MemoryReach::device, MemoryReach::mpi}) {
    ApartMemory memory(reach);
    const auto window = [&] {
      Channels(ProcessGrid(ranks, 1, 1, 1), all_channels(), TransportKind::window,
               ProgressMode::none, memory);
    };

    EXPECT_THAT(window, testing::ThrowsMessage<std::invalid_argument>(
                            testing::AllOf(testing::HasSubstr("transport window needs"),
                                           testing::HasSubstr("use auto, ring or library"))));
  }
}

}  // namespace
}  // namespace fourfold::tests
