// Bytes handed to MPI, intercepted through PMPI, are what the formulas of the collectives say.
#include <gtest/gtest.h>

#include "engine/mpi/channels.hpp"
#include "engine/mpi/handles.hpp"
#include "tests/mpi/reference_line.hpp"
#include "tests/pmpi_counter.hpp"

namespace fourfold::tests {
namespace {

constexpr std::array<CollectiveKind, 3> kinds{
    CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce};

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
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  Channels channels(ProcessGrid(1, ranks, 1, 1), all_channels(), TransportKind::ring,
                    ProgressMode::none, host_memory());
  Communicator& channel = channels[{Axis::y, ""}];
  for (std::int64_t elements : {std::int64_t{0}, std::int64_t{1}, ranks - 1, ranks, ranks + 1,
                                std::int64_t{1009}, 100000 * ranks}) {
    for (CollectiveKind kind : kinds) {
      for (Precision precision : {Precision::fp32, Precision::bf16}) {
        Trial trial(kind, Owed::sum, precision, elements, ranks, channel.position());
        reset_mpi_traffic();

        channel.finish(channel.start(trial.call));

        const std::map<std::string, MpiTraffic>& counted = mpi_traffic();
        const auto found = counted.find("channel y");
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
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  Channels channels(ProcessGrid(1, ranks, 1, 1), all_channels(), TransportKind::ring,
                    ProgressMode::none, host_memory());
  Communicator& channel = channels[{Axis::y, ""}];
  reset_mpi_traffic();

  for (CollectiveKind kind : kinds) {
    for (std::int64_t elements : {ranks, std::int64_t{1009}, 100000 * ranks}) {
      Trial trial(kind, Owed::sum, Precision::fp32, elements, ranks, channel.position());
      if (kind == CollectiveKind::all_reduce) trial.call.send = trial.call.receive;  // in place
      channel.finish(channel.start(trial.call));
    }
  }

  for (const auto& [name, traffic] : mpi_traffic()) EXPECT_EQ(traffic.clashes, 0) << name;
}

TEST(Traffic, TheLibraryIsHandedEachBufferOnce) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  Channels channels(ProcessGrid(1, 1, 1, ranks), all_channels(), TransportKind::library,
                    ProgressMode::none, host_memory());
  Communicator& channel = channels[{Axis::data, ""}];
  for (CollectiveKind kind : kinds) {
    Trial trial(kind, Owed::sum, Precision::bf16, 1009, ranks, channel.position());
    reset_mpi_traffic();

    channel.finish(channel.start(trial.call));

    const std::map<std::string, MpiTraffic>& counted = mpi_traffic();
    if (ranks == 1) {
      EXPECT_TRUE(counted.empty());
      continue;
    }
    EXPECT_EQ(counted.at("channel data").collectives, 1);
    EXPECT_EQ(counted.at("channel data").whole_buffers, 2 * 1009);
  }
}

TEST(Traffic, AWindowHandsMpiNothing) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  Channels channels(ProcessGrid(1, 1, ranks, 1), all_channels(), TransportKind::window,
                    ProgressMode::none, host_memory());
  Communicator& channel = channels[{Axis::z, "reduce"}];
  Trial trial(CollectiveKind::all_reduce, Owed::sum, Precision::fp32, 1009, ranks,
              channel.position());
  reset_mpi_traffic();

  channel.finish(channel.start(trial.call));

  EXPECT_TRUE(mpi_traffic().empty());
}

}  // namespace
}  // namespace fourfold::tests
