// Tuned kernels and the library's collectives add in other orders than the referee: how far that
// may lead, in loss, norm and gradients.
#include <gtest/gtest.h>

#include "engine/cpu/tuned_backend.hpp"
#include "engine/reference/scatter.hpp"
#include "tests/train/one_run.hpp"

namespace fourfold::tests {
namespace {

// After one step the first moment is (1 - beta1) times the clipped gradient. Largest difference to
// the referee's relative to the largest element of the matrix, over all matrices.
double largest_difference(const OneRun& run, const Lockstep<float>& referee) {
  double largest = 0.0;
  for (const Stored& stored : run.weights.all()) {
    if (!stored.name.ends_with(".m")) continue;
    const Matrix<float> global = referee.weight(stored.name);
    const Matrix<float> expected =
        scatter(stored.shape, run.weights.grid(), run.weights.rank(), global);
    float scale = 0.0F;
    for (float x : global.values) scale = std::max(scale, std::abs(x));
    for (std::int64_t i = 0; i < stored.block.size(); ++i) {
      const double difference =
          std::abs(stored.block.fp32()[i] - expected.values[static_cast<std::size_t>(i)]);
      largest = std::max(largest, difference / scale);
    }
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

void expect_close(const Case& what, TransportKind transport, const Bounds& bounds) {
  SCOPED_TRACE(what.grid.str() + " " + name(transport));
  const Referee referee(what);
  TunedBackend backend;
  OneRun run(what, {transport, ProgressMode::tiles}, backend);

  const ExecutedStep step = run.step(1);

  const StepResult& expected = referee.steps[0];
  EXPECT_NEAR(step.loss, expected.loss, bounds.loss * expected.loss);
  EXPECT_NEAR(step.gradient_norm, expected.gradient_norm, bounds.norm * expected.gradient_norm);
  EXPECT_LT(largest_difference(run, referee.run), bounds.gradient);
}

// fp32 has 2^-24 = 6e-8 a rounding; sums of up to 128 terms and about 40 operations in a row.
// Transports take turns over the grids.
TEST(ExecutorTolerance, InFp32WithTunedKernelsOverEveryTransport) {
  const Bounds bounds{1e-6, 1e-5, 1e-5};
  std::size_t next = 0;
  for (const ProcessGrid& grid : grids_of_all_ranks()) {
    Case what;
    what.steps = 1;
    what.grid = grid;
    what.options.precision = Precision::fp32;
    expect_close(what, transports[next++ % transports.size()], bounds);
  }
}

TEST(ExecutorTolerance, InFp32WithUnfusedAttention) {
  const Bounds bounds{1e-6, 1e-5, 1e-5};
  for (const ProcessGrid& grid : some_grids()) {
    Case what;
    what.steps = 1;
    what.grid = grid;
    what.options.precision = Precision::fp32;
    what.options.attention = AttentionKernel::unfused;
    what.options.recompute = Recompute::selective;
    expect_close(what, TransportKind::ring, bounds);
  }
}

// A sum that lies between two bf16 numbers may round to either: 2^-8 relative, on each of about 40
// roundings between a weight and its gradient in two blocks. Independent ones add up to
// sqrt(40) 2^-8 = 2.5 %; a single element may have several times that. The loss is a mean over
// tokens of what about 20 roundings have moved by 2^-9 each.
TEST(ExecutorTolerance, InBf16WithTunedKernelsOverEveryTransport) {
  const Bounds bounds{1.0 / 128, 0.025, 0.10};
  for (const ProcessGrid& grid : some_grids()) {
    for (TransportKind transport : transports) {
      Case what;
      what.steps = 1;
      what.grid = grid;
      expect_close(what, transport, bounds);
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
