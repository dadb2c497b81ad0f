// The transports by themselves, with messages and slots far smaller than what they carry: many
// segments in every round, and window slots that are used again and again.
#include <gtest/gtest.h>

#include <thread>

#include "engine/mpi/ring_transport.hpp"
#include "engine/mpi/window_transport.hpp"
#include "tests/mpi/reference_line.hpp"

namespace fourfold::tests {
namespace {

constexpr std::array<CollectiveKind, 3> kinds{
    CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce};

MpiCommunicator world() {
  return split(MPI_COMM_WORLD, 0, rank_in(MPI_COMM_WORLD), "all");
}

void finish(ChannelTransport& transport, Post post) {
  while (transport.finished() < post) {
    if (!transport.advance()) std::this_thread::yield();
  }
}

void expect_right_bits(ChannelTransport& transport, std::int64_t elements) {
  for (CollectiveKind kind : kinds) {
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
    trials.emplace_back(kinds[static_cast<std::size_t>(i % 3)], Owed::sum, Precision::fp32, 37 * i,
                        transport.size(), transport.position());
  }
  for (const Trial& trial : trials) transport.start(trial.call);

  finish(transport, 30);

  for (const Trial& trial : trials) EXPECT_TRUE(trial.equal());
}

}  // namespace
}  // namespace fourfold::tests
