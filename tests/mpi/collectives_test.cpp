// Every transport, collective, precision and odd size against plain loops, bit by bit where the
// order of sums is ours.
#include <gtest/gtest.h>

#include "engine/mpi/channels.hpp"
#include "engine/mpi/handles.hpp"
#include "tests/mpi/reference_line.hpp"

namespace fourfold::tests {
namespace {

std::vector<std::int64_t> odd_sizes(std::int64_t members) {
  return {0, 1, members - 1, members, members + 1, 2 * members + 1, 127, 1009, 65537, 600011};
}

constexpr std::array<CollectiveKind, 3> kinds{
    CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce};

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

TEST_P(EveryCollective, GivesTheBitsOfTheDocumentedOrder) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  Channels channels(ProcessGrid(ranks, 1, 1, 1), all_channels(), GetParam(), ProgressMode::none,
                    host_memory());
  Communicator& channel = channels[{Axis::x, ""}];
  for (std::int64_t elements : odd_sizes(ranks)) {
    for (CollectiveKind kind : kinds) {
      for (Precision precision : {Precision::fp32, Precision::bf16}) {
        for (Owed owed : {Owed::sum, Owed::max}) {
          const bool gather = kind == CollectiveKind::all_gather;
          if (gather && owed == Owed::max) continue;
          Trial trial(kind, owed, precision, elements, ranks, channel.position());

          channel.finish(channel.start(trial.call));

          EXPECT_TRUE(trial.equal()) << described(trial.call, elements);
        }
      }
    }
  }
}

// Whatever order the library adds in: near the sum, and the same on all members; a maximum and a
// gather are exact.
TEST(LibraryCollectives, AreNearTheSumAndEqualOnAllMembers) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  Channels channels(ProcessGrid(1, 1, ranks, 1), all_channels(), TransportKind::library,
                    ProgressMode::none, host_memory());
  Communicator& channel = channels[{Axis::z, "gather"}];
  for (std::int64_t elements : odd_sizes(ranks)) {
    for (CollectiveKind kind : kinds) {
      for (Precision precision : {Precision::fp32, Precision::bf16}) {
        for (Owed owed : {Owed::sum, Owed::max}) {
          Trial trial(kind, owed, precision, elements, ranks, channel.position());

          channel.finish(channel.start(trial.call));

          const std::string what = described(trial.call, elements);
          if (kind == CollectiveKind::all_gather || owed == Owed::max) {
            EXPECT_TRUE(trial.equal()) << what;
            continue;
          }
          // A contribution is below 256, and each of fewer than `ranks` roundings moves a partial
          // sum by half a unit in its last place.
          const double unit = precision == Precision::bf16 ? 0x1p-8 : 0x1p-24;
          const double partial_sum = 256.0 * static_cast<double>(ranks);
          EXPECT_LE(trial.greatest_difference(), 2 * unit * partial_sum * double(ranks)) << what;
          if (kind == CollectiveKind::all_reduce) {
            EXPECT_TRUE(same_on_all(trial.receive)) << what;
          }
        }
      }
    }
  }
}

TEST(EveryTransport, ReducesInPlace) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  for (TransportKind transport :
       {TransportKind::ring, TransportKind::library, TransportKind::window}) {
    Channels channels(ProcessGrid(ranks, 1, 1, 1), all_channels(), transport, ProgressMode::none,
                      host_memory());
    for (std::int64_t elements : odd_sizes(ranks)) {
      Trial trial(CollectiveKind::all_reduce, Owed::max, Precision::fp32, elements, ranks,
                  channels[{Axis::x, ""}].position());
      trial.receive.bytes = trial.send.bytes;
      trial.call.send = trial.call.receive = trial.receive.tensor();

      channels[{Axis::x, ""}].finish(channels[{Axis::x, ""}].start(trial.call));

      EXPECT_TRUE(trial.equal()) << name(transport) << " " << elements;
    }
  }
}

// Only a reduce-scatter may overwrite what it sends.
TEST(EveryTransport, LeavesWhatIsSentAlone) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  for (TransportKind transport :
       {TransportKind::ring, TransportKind::library, TransportKind::window}) {
    Channels channels(ProcessGrid(ranks, 1, 1, 1), all_channels(), transport, ProgressMode::none,
                      host_memory());
    for (CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_reduce}) {
      Trial trial(kind, Owed::sum, Precision::bf16, 1009, ranks,
                  channels[{Axis::x, ""}].position());
      const std::vector<std::byte> before = trial.send.bytes;

      channels[{Axis::x, ""}].finish(channels[{Axis::x, ""}].start(trial.call));

      EXPECT_EQ(trial.send.bytes, before) << name(transport) << " " << name(kind);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ours, EveryCollective,
                         testing::Values(TransportKind::ring, TransportKind::window),
                         [](const auto& info) { return name(info.param); });

}  // namespace
}  // namespace fourfold::tests
