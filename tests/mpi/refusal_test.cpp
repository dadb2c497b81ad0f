// What channels refuse, in words that say what would be right.
#include "tests/refusal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/mpi/reference_line.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

TEST(Refusal, AGridOfOtherSizeThanTheWorld) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  for (const ProcessGrid& grid : {ProcessGrid(ranks, 1, 3, 1), ProcessGrid(1, 1, 1, 1)}) {
    const std::string said = refusal([&] {
      Channels(grid, made_up_channels(), TransportKind::ring, ProgressMode::none, host_memory());
    });
    EXPECT_EQ(said, grid.size() == ranks
                        ? "accepted"
                        : "grid " + grid.str() + " needs " + std::to_string(grid.size()) +
                              " ranks, but MPI has started " + std::to_string(ranks));
  }
}

TEST(Refusal, WordsThatNameNoTransport) {
  EXPECT_EQ(refusal([] { parse_transport("rings"); }),
            "'rings' is no transport; choose ring, library, window or auto");
  EXPECT_EQ(refusal([] { parse_progress_mode(""); }),
            "'' is no way to progress; choose tiles, thread or none");
  for (TransportKind transport : {TransportKind::ring, TransportKind::library,
                                  TransportKind::window, TransportKind::automatic}) {
    EXPECT_EQ(parse_transport(name(transport)), transport);
  }
  for (ProgressMode mode : {ProgressMode::tiles, ProgressMode::thread, ProgressMode::none}) {
    EXPECT_EQ(parse_progress_mode(name(mode)), mode);
  }
}

TEST(Refusal, OperandsThatDoNotFit) {
  auto [channels, channel, ranks] = OneLine(TransportKind::ring);
  Buffer whole(10 * ranks, Precision::fp32);
  Buffer piece(9, Precision::fp32);
  Buffer halves(10 * ranks, Precision::bf16);
  Buffer words(10 * ranks, Precision::int32);
  const auto start = [&](CollectiveKind kind, Buffer& send, Buffer& receive) {
    return refusal([&] { channel.start({kind, Owed::sum, send.tensor(), receive.tensor()}); });
  };

  EXPECT_EQ(start(CollectiveKind::reduce_scatter, whole, piece),
            "reduce-scatter of " + std::to_string(10 * ranks) + " elements into 9 over " +
                std::to_string(ranks) +
                " members: a piece must have the whole divided by the members, rounded up, and an "
                "all-reduce must have equal extents");
  EXPECT_THAT(start(CollectiveKind::all_gather, piece, whole), HasSubstr("all-gather of 9"));
  EXPECT_THAT(start(CollectiveKind::all_reduce, piece, whole), HasSubstr("equal extents"));
  EXPECT_THAT(start(CollectiveKind::all_reduce, whole, halves), HasSubstr("from fp32 to bf16"));
  EXPECT_THAT(start(CollectiveKind::all_reduce, words, words), HasSubstr("both operands"));
  EXPECT_FALSE(channel.progress()) << "what is refused is not under way";
}

TEST(Refusal, MoreElementsThanOneCallCanCount) {
  EXPECT_EQ(mpi_count(2147483647), 2147483647);
  EXPECT_THROW(mpi_count(2147483648), std::runtime_error);
  EXPECT_THROW(mpi_count(-1), std::runtime_error);
}

}  // namespace
}  // namespace fourfold::tests
