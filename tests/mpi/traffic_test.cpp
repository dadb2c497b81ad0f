// Bytes handed to MPI, intercepted through PMPI, are what the formulas of the collectives say; of a
// device whose memory MPI does not reach, every byte that goes through the host is counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/apart_memory.hpp"
#include "tests/mpi/reference_line.hpp"
#include "tests/pmpi_counter.hpp"

namespace fourfold::tests {
namespace {

// Elements that one member of a ring sends: everything but the chunk that comes home to it
// (reduce-scatter), everything but the chunk that its successor brought (all-gather), or both.
std::int64_t sent_by(CollectiveKind kind, std::int64_t elements, std::int64_t members,
                     std::int64_t position) {
  const std::int64_t own = ring_chunk(elements, members, position).elements;
  const std::int64_t next = ring_chunk(elements, members, (position + 1) % members).elements;
  if (members == 1) return 0;
  if (kind == CollectiveKind::reduce_scatter) return elements - own;
  if (kind == CollectiveKind::all_gather) return elements - next;
  return 2 * elements - own - next;
}

TEST(Traffic, ARingSendsExactlyWhatTheFormulaSays) {
  auto [channels, channel, ranks] = OneLine(TransportKind::ring);
  for (std::int64_t elements : {std::int64_t{0}, std::int64_t{1}, ranks - 1, ranks, ranks + 1,
                                std::int64_t{1009}, 100000 * ranks}) {
    for (CollectiveKind kind : reducing_kinds) {
      for (Precision precision : {Precision::fp32, Precision::bf16}) {
        Trial trial(kind, Owed::sum, precision, elements, ranks, channel.position());
        reset_mpi_traffic();

        channel.finish(channel.start(trial.call));

        const std::map<std::string, MpiTraffic>& counted = mpi_traffic();
        const auto found = counted.find("channel x");
        const std::int64_t sent = found == counted.end() ? 0 : found->second.sent;
        const std::int64_t width = bytes_per_element(precision);
        EXPECT_EQ(sent, sent_by(kind, elements, ranks, channel.position()) * width)
            << name(kind) << " of " << elements;
        std::int64_t total = 0;
        MPI_Allreduce(&sent, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        const std::int64_t passes = kind == CollectiveKind::all_reduce ? 2 : 1;
        EXPECT_EQ(total, passes * (ranks - 1) * elements * width) << name(kind);
      }
    }
  }
}

// With few segments a round, receives are posted rounds ahead: never into what is yet to be sent.
TEST(Traffic, ARingReceivesIntoNothingThatASendUses) {
  auto [channels, channel, ranks] = OneLine(TransportKind::ring);
  reset_mpi_traffic();

  for (CollectiveKind kind : reducing_kinds) {
    for (std::int64_t elements : {ranks, std::int64_t{1009}, 100000 * ranks}) {
      Trial trial(kind, Owed::sum, Precision::fp32, elements, ranks, channel.position());
      if (kind == CollectiveKind::all_reduce) trial.call.send = trial.call.receive;  // in place
      channel.finish(channel.start(trial.call));
    }
  }

  for (const auto& [name, traffic] : mpi_traffic()) EXPECT_EQ(traffic.clashes, 0) << name;
}

TEST(Traffic, TheLibraryIsHandedEachBufferOnce) {
  auto [channels, channel, ranks] = OneLine(TransportKind::library);
  for (CollectiveKind kind : reducing_kinds) {
    Trial trial(kind, Owed::sum, Precision::bf16, 1009, ranks, channel.position());
    reset_mpi_traffic();

    channel.finish(channel.start(trial.call));

    const std::map<std::string, MpiTraffic>& counted = mpi_traffic();
    if (ranks == 1) {
      EXPECT_TRUE(counted.empty());
      continue;
    }
    EXPECT_EQ(counted.at("channel x").collectives, 1);
    EXPECT_EQ(counted.at("channel x").whole_buffers, 2 * 1009);
  }
}

TEST(Traffic, AWindowHandsMpiNothing) {
  auto [channels, channel, ranks] = OneLine(TransportKind::window);
  Trial trial(CollectiveKind::all_reduce, Owed::sum, Precision::fp32, 1009, ranks,
              channel.position());
  reset_mpi_traffic();

  channel.finish(channel.start(trial.call));

  EXPECT_TRUE(mpi_traffic().empty());
}

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

// What a member of a ring sends, and receives from the one before.
std::int64_t moved_by(CollectiveKind kind, std::int64_t elements, std::int64_t members,
                      std::int64_t position) {
  return sent_by(kind, elements, members, position) +
         sent_by(kind, elements, members, (position + members - 1) % members);
}

TEST(Staging, OfRingsIsWhatTheySendAndReceive) {
  ApartMemory memory;
  auto [channels, channel, ranks] = OneLine(TransportKind::ring, ProgressMode::none, memory);
  for (std::int64_t elements :
       {std::int64_t{0}, std::int64_t{1}, ranks + 1, std::int64_t{1009}, std::int64_t{600011}}) {
    for (CollectiveKind kind : reducing_kinds) {
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
  ApartMemory memory;
  auto [channels, channel, ranks] = OneLine(TransportKind::library, ProgressMode::none, memory);
  constexpr std::int64_t elements = 1009;
  for (CollectiveKind kind : reducing_kinds) {
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
  ApartMemory memory(MemoryReach::mpi);
  for (TransportKind transport : {TransportKind::ring, TransportKind::library}) {
    auto [channels, channel, ranks] = OneLine(transport, ProgressMode::none, memory);
    for (CollectiveKind kind : reducing_kinds) {
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
      Channels(ProcessGrid(ranks, 1, 1, 1), made_up_channels(), TransportKind::window,
               ProgressMode::none, memory);
    };

    EXPECT_THAT(window, testing::ThrowsMessage<std::invalid_argument>(
                            testing::AllOf(testing::HasSubstr("transport window needs"),
                                           testing::HasSubstr("use auto, ring or library"))));
  }
}

}  // namespace
}  // namespace fourfold::tests
