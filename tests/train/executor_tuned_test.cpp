// Tuned kernels, which compute in tiles. Moving waits, and who makes collectives progress
// meanwhile, changes time and never values; they and the library's collectives add in other orders
// than the referee: how far that may lead, in loss, norm and gradients.
#include <gtest/gtest.h>

#include "engine/cpu/tuned_backend.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/train/bitwise.hpp"
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

// After one step the first moment is (1 - beta1) times the clipped gradient. Largest difference to
// the referee's relative to the largest element of the matrix, over all matrices.
double largest_difference(const OneRun& run, const std::vector<float>& expected) {
  std::vector<float> differences, scales;  // by matrix
  auto next = expected.begin();
  for (const Stored& stored : run.weights.all()) {
    float difference = 0.0F, scale = 0.0F;
    for (const float own : numbers_of(*stored.memory, stored.block)) {
      difference = std::max(difference, std::abs(own - *next));
      scale = std::max(scale, std::abs(*next++));
    }
    if (!stored.name.ends_with(".m")) continue;
    differences.push_back(difference);
    scales.push_back(scale);
  }
  MPI_Allreduce(MPI_IN_PLACE, scales.data(), static_cast<int>(scales.size()), MPI_FLOAT, MPI_MAX,
                MPI_COMM_WORLD);
  double largest = 0.0;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    largest = std::max<double>(largest, differences[i] / scales[i]);
  }
  return largest;
}

constexpr std::array<TransportKind, 3> transports{TransportKind::ring, TransportKind::library,
                                                  TransportKind::window};

struct Bounds {
  double loss = 0.0;
  double norm = 0.0;
  double gradient = 0.0;
};

void expect_close(const std::vector<Compared>& all, const Bounds& bounds) {
  with_referee(all, [&](const Case& what, const Means& means, const Refereed& expected) {
    TunedBackend backend;
    OneRun run(what, means, backend);

    const ExecutedStep step = run.step(1);

    const double loss = expected.found[0], norm = expected.found[1];
    EXPECT_NEAR(step.loss, loss, bounds.loss * loss);
    EXPECT_NEAR(step.gradient_norm, norm, bounds.norm * norm);
    ASSERT_EQ(elements_of(run.weights).size(), expected.elements.size());
    EXPECT_LT(largest_difference(run, expected.elements), bounds.gradient);
  });
}

// fp32 has 2^-24 = 6e-8 a rounding; sums of up to 128 terms and about 40 operations in a row.
// Transports take turns over the grids.
TEST(ExecutorTolerance, InFp32WithTunedKernelsOverEveryTransportAndUnfusedAttention) {
  std::vector<Compared> all;
  for (const ProcessGrid& grid : grids_of_all_ranks()) {
    Case what;
    what.steps = 1;
    what.grid = grid;
    what.options.precision = Precision::fp32;
    all.push_back({what, {{transports[all.size() % transports.size()], ProgressMode::tiles}}});
  }
  for (const ProcessGrid& grid : some_grids()) {
    Case what = all.front().what;
    what.grid = grid;
    what.options.attention = AttentionKernel::unfused;
    what.options.recompute = Recompute::selective;
    all.push_back({what, {{TransportKind::ring, ProgressMode::tiles}}});
  }
  expect_close(all, {1e-6, 1e-5, 1e-5});
}

// A sum that lies between two bf16 numbers may round to either: 2^-8 relative, on each of about 40
// roundings between a weight and its gradient in two blocks. Independent ones add up to
// sqrt(40) 2^-8 = 2.5 %; a single element may have several times that. The loss is a mean over
// tokens of what about 20 roundings have moved by 2^-9 each.
TEST(ExecutorTolerance, InBf16WithTunedKernelsOverEveryTransport) {
  std::vector<Compared> all;
  for (const ProcessGrid& grid : some_grids()) {
    Case what;
    what.steps = 1;
    what.grid = grid;
    all.push_back({what, {}});
    for (TransportKind transport : transports) {
      all.back().means.push_back({transport, ProgressMode::tiles});
    }
  }
  expect_close(all, {1.0 / 128, 0.025, 0.10});
}

}  // namespace
}  // namespace fourfold::tests
