// Peak resident memory of a training run grows by what the counted rung says, within 10 %, on a
// model that is large beside everything else in the process.
#include <gtest/gtest.h>
#include <malloc.h>

#include <fstream>

#include "engine/cpu/tuned_backend.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/train/one_run.hpp"

namespace fourfold::tests {
namespace {

// Peak resident bytes since the last reset. /proc/self/clear_refs resets it (Linux, proc(5)).
double peak_resident() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0.0;
    if (word == "VmHWM:" && status >> kilobytes) return 1024.0 * kilobytes;
  }
  return 0.0;
}
void reset_peak_resident() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

struct Growth {
  double measured = 0.0;
  double scratch = 0.0;  // part of it: memory that kernels keep to work in
  double counted = 0.0;
};

Growth growth_of(const Case& what, TransportKind transport) {
  {
    Case warm = what;  // MPI and BLAS are up, with their buffers, after a step of a single layer
    warm.model.layers = 1;
    warm.model.vocabulary = 64;
    TunedBackend backend;
    OneRun run(warm, {transport, ProgressMode::none}, backend, StartFrom::zeros);
    run.step(1);
  }
  malloc_trim(0);  // what that step has freed is to be counted anew
  reset_peak_resident();
  const double before = peak_resident();
  TunedBackend backend;
  OneRun run(what, {transport, ProgressMode::none}, backend, StartFrom::zeros);
  run.step(1);
  run.step(2);
  const auto scratch = static_cast<double>(backend.scratch_bytes());
  return {peak_resident() - before, scratch,
          counted(what.model, what.options, what.grid, what.sequences).memory.peak.value};
}

// The grid of all ranks that cuts x, then y, then the batch.
ProcessGrid mixed_grid() {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  const auto halved = [&](std::int64_t least) { return ranks >= least ? 2 : 1; };
  return {halved(2), halved(4), 1, halved(8)};
}

// Half a gigabyte a rank. The heap's gaps take up to 15 MB of each whatever the model: oneDNN takes
// 1.2 MB for a product and gives them back, and what MPI takes meanwhile, as messages happen to
// arrive, keeps the gap. Of 236 MB they were 5 % at times, and the bound was passed by luck.
TEST(ExecutorMemory, GrowsByTheCountedPeakWithin10Percent) {
  Case what;
  what.grid = mixed_grid();
  what.model = {"memory", std::min<std::int64_t>(16, 4 * size_of(MPI_COMM_WORLD)), 768, 12, 64,
                8192};
  what.sequences = 8;
  for (Precision precision : {Precision::fp32, Precision::bf16}) {
    if (precision == Precision::fp32 && what.grid.size() > 4) continue;  // four ranks find it
    what.options.precision = precision;

    const Growth growth = growth_of(what, TransportKind::ring);

    const double ratio = growth.measured / growth.counted;
    std::printf("peak %s: %.1f MB measured, %.1f of it scratch, %.1f counted, ratio %.3f\n",
                name(precision), growth.measured / 1e6, growth.scratch / 1e6, growth.counted / 1e6,
                ratio);
    EXPECT_GT(growth.counted, 5e7);
    EXPECT_LT(growth.scratch, 0.02 * growth.counted);
    EXPECT_NEAR(ratio, 1.0, 0.10) << name(precision) << " on " << what.grid.str();
  }
}

}  // namespace
}  // namespace fourfold::tests
