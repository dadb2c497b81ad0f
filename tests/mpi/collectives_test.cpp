// Every transport, collective, precision and odd size against plain loops, bit by bit where the
// order of sums is ours; and the transports by themselves, with messages and slots far smaller than
// what they carry: many segments in every round, and window slots that are used again and again.
#include <gtest/gtest.h>

#include <thread>

#include "engine/mpi/ring_transport.hpp"
#include "engine/mpi/window_transport.hpp"
#include "tests/mpi/reference_line.hpp"

namespace fourfold::tests {
namespace {

std::vector<std::int64_t> odd_sizes(std::int64_t members) {
  return {0, 1, members - 1, members, members + 1, 2 * members + 1, 127, 1009, 65537, 600011};
}

std::string described(const CollectiveCall& call, std::int64_t elements) {
  return std::string(name(call.kind)) + (call.owed == Owed::sum ? " sum " : " max ") +
         name(call.send.precision) + " of " + std::to_string(elements);
}

bool same_on_all(const Buffer& buffer) {
  Buffer first(buffer.size(), buffer.precision);
  first.bytes = buffer.bytes;
  MPI_Bcast(first.bytes.data(), static_cast<int>(first.bytes.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  return first.bytes == buffer.bytes;
}

class EveryCollective : public testing::TestWithParam<TransportKind> {};

// Only a reduce-scatter may overwrite what it sends. Whatever order the library adds in, its sums
// are near and the same on all members; a maximum and a gather are exact.
TEST_P(EveryCollective, GivesTheBitsOfTheDocumentedOrder) {
  auto [channels, channel, ranks] = OneLine(GetParam());
  for (std::int64_t elements : odd_sizes(ranks)) {
    for (CollectiveKind kind : reducing_kinds) {
      for (Precision precision : {Precision::fp32, Precision::bf16}) {
        for (Owed owed : {Owed::sum, Owed::max}) {
          Trial trial(kind, owed, precision, elements, ranks, channel.position());
          const std::vector<std::byte> before = trial.send.bytes;

          channel.finish(channel.start(trial.call));

          SCOPED_TRACE(described(trial.call, elements));
          if (kind != CollectiveKind::reduce_scatter) {
            EXPECT_EQ(trial.send.bytes, before);
          }
          const bool adds = kind != CollectiveKind::all_gather && owed == Owed::sum;
          if (GetParam() != TransportKind::library || !adds) {
            EXPECT_TRUE(trial.equal());
            continue;
          }
          // A contribution is below 256, and each of fewer than `ranks` roundings moves a partial
          // sum by half a unit in its last place.
          const double unit = precision == Precision::bf16 ? 0x1p-8 : 0x1p-24;
          const double partial_sum = 256.0 * static_cast<double>(ranks);
          EXPECT_LE(trial.greatest_difference(), 2 * unit * partial_sum * double(ranks));
          if (kind == CollectiveKind::all_reduce) {
            EXPECT_TRUE(same_on_all(trial.receive));
          }
        }
      }
    }
  }
}

TEST_P(EveryCollective, ReducesInPlace) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  OneLine all(GetParam());
  for (std::int64_t elements : odd_sizes(ranks)) {
    Trial trial(CollectiveKind::all_reduce, Owed::max, Precision::fp32, elements, ranks,
                all.channel.position());
    trial.receive.bytes = trial.send.bytes;
    trial.call.send = trial.call.receive = trial.receive.tensor();

    all.channel.finish(all.channel.start(trial.call));

    EXPECT_TRUE(trial.equal()) << elements;
  }
}

INSTANTIATE_TEST_SUITE_P(By, EveryCollective,
                         testing::Values(TransportKind::ring, TransportKind::window,
                                         TransportKind::library),
                         [](const auto& info) { return name(info.param); });

MpiCommunicator world() {
  return split(MPI_COMM_WORLD, 0, rank_in(MPI_COMM_WORLD), "all");
}

void finish(ChannelTransport& transport, Post post) {
  while (transport.finished() < post) {
    if (!transport.advance()) std::this_thread::yield();
  }
}

void expect_right_bits(ChannelTransport& transport, std::int64_t elements) {
  for (CollectiveKind kind : reducing_kinds) {
    for (Precision precision : {Precision::fp32, Precision::bf16}) {
      Trial trial(kind, Owed::sum, precision, elements, transport.size(), transport.position());

      finish(transport, transport.start(trial.call));

      EXPECT_TRUE(trial.equal()) << name(kind) << " " << name(precision) << " of " << elements;
    }
  }
}

TEST(Segments, OfARingMayBeOfAnyLength) {
  // Longer to add, longer to store, and equal; a round has up to a few dozen.
  for (const RingTransport::Segments segments :
       {RingTransport::Segments{64, 24}, {16, 400}, {100, 100}}) {
    RingTransport transport(world(), host_memory(), segments);
    for (std::int64_t elements : {1, 7, 100, 1009}) {
      expect_right_bits(transport, elements * transport.size());
      expect_right_bits(transport, elements * transport.size() + 1);
    }
  }
}

TEST(Segments, OfAWindowUseItsSlotsInTurn) {
  WindowTransport transport(world(), host_memory(), 1);  // the smallest: one cache line a share
  for (std::int64_t elements : {1, 7, 100, 1009}) {
    expect_right_bits(transport, elements * transport.size());
    expect_right_bits(transport, elements * transport.size() + 1);
  }
}

TEST(Segments, OfEqualRingsAreSharedByNoTwoCollectives) {
  RingTransport transport(world(), host_memory(), {64, 64});
  std::vector<Trial> trials;
  for (std::int64_t i = 0; i < 30; ++i) {
    trials.emplace_back(reducing_kinds[static_cast<std::size_t>(i % 3)], Owed::sum, Precision::fp32,
                        37 * i, transport.size(), transport.position());
  }
  for (const Trial& trial : trials) transport.start(trial.call);

  finish(transport, 30);

  for (const Trial& trial : trials) EXPECT_TRUE(trial.equal());
}

}  // namespace
}  // namespace fourfold::tests
