// Moving waits, and who makes collectives progress meanwhile, changes time and never values: with
// the tuned kernels too, which compute in tiles.
#include <gtest/gtest.h>

#include "engine/cpu/tuned_backend.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/train/one_run.hpp"

namespace fourfold::tests {
namespace {

// All bytes of the weights and the optimizer's state of this rank after a few steps.
std::vector<std::byte> trained(const Case& what, const Means& means) {
  TunedBackend backend;
  OneRun run(what, means, backend);
  for (std::int64_t number = 1; number <= what.steps; ++number) run.step(number);
  std::vector<std::byte> bytes;
  for (const Stored& stored : run.weights.all()) {
    bytes.insert(bytes.end(), stored.block.data, stored.block.data + stored.block.bytes());
  }
  return bytes;
}

Case plain(const ProcessGrid& grid, Precision precision) {
  Case what;
  what.grid = grid;
  what.options.micro_batches = 2;
  what.options.precision = precision;
  what.options.overlap = no_overlap;
  what.sequences = 16;
  return what;
}

TEST(ExecutorOverlap, ChangesNoBitInAnyProgressMode) {
  for (const ProcessGrid& grid : some_grids()) {
    for (Precision precision : {Precision::fp32, Precision::bf16}) {
      Case what = plain(grid, precision);
      const std::vector<std::byte> expected = trained(what, {});
      for (ProgressMode mode : {ProgressMode::tiles, ProgressMode::thread, ProgressMode::none}) {
        for (const Overlap& overlap : {Overlap{}, Overlap{true, false, true, false}}) {
          what.options.overlap = overlap;
          EXPECT_TRUE(trained(what, {TransportKind::ring, mode}) == expected)
              << grid.str() << " " << name(mode) << " " << described(what.options);
        }
      }
    }
  }
}

// Nor does any window of blocks in flight, nor a second run, whatever the transport.
TEST(ExecutorOverlap, OfAnyWindowAndInASecondRunChangesNoBit) {
  for (TransportKind transport :
       {TransportKind::ring, TransportKind::library, TransportKind::window}) {
    Case what = plain(some_grids().front(), Precision::bf16);
    const Means means{transport, ProgressMode::tiles};
    const std::vector<std::byte> expected = trained(what, means);
    EXPECT_TRUE(trained(what, means) == expected) << name(transport);
    what.options.overlap = {};
    for (std::int64_t window : {0, 1, 5}) {
      what.options.in_flight_blocks = window;
      EXPECT_TRUE(trained(what, means) == expected) << name(transport) << " " << window;
    }
  }
}

// What a step reports as exposed on a channel is what all of its collectives kept waiting.
TEST(ExecutorOverlap, ExposedSecondsAreThoseOfAllWaits) {
  const Case what = plain(some_grids().front(), Precision::fp32);
  TunedBackend backend;
  OneRun run(what, {}, backend);

  const ExecutedStep step = run.step(1);

  std::vector<double> waited(run.schedule.program.channels.size(), 0.0);
  for (const OpSpan& span : step.spans) {
    const Op& op = run.schedule.program.ops[static_cast<std::size_t>(span.op)];
    if (is_collective(op.kind)) waited[static_cast<std::size_t>(op.channel)] += span.waited;
  }
  ASSERT_EQ(step.exposed_seconds.size(), waited.size());
  for (std::size_t c = 0; c < waited.size(); ++c) {
    EXPECT_DOUBLE_EQ(step.exposed_seconds[c], waited[c]) << "channel " << c;
  }
}

}  // namespace
}  // namespace fourfold::tests
