// Collectives along x that go beside the products they belong to: in which order, and that nothing
// but waiting changes.
#include <gtest/gtest.h>

#include <string>

#include "schedule/fold/pieces.hpp"
#include "sim/cost/lower.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/program_detail.hpp"
#include "tests/drawn_points.hpp"

namespace fourfold::tests {
namespace {

// A body of a map, a gather, a product, a map, a product and a reduction, along x.
struct Written {
  Folded folded;
  Body body;

  Written() {
    folded.channels = {{Axis::x, "", Group::line}, {Axis::z, "gather", Group::line}};
    folded.classes.resize(2);
    folded.classes[1].kind = OpKind::gemm;
    folded.bundles = {{0}, {1, 0, 1}, {1}};
    folded.collectives = {{CollectiveKind::all_gather, 0, 0},
                          {CollectiveKind::reduce_scatter, 0, 0}};
  }
  void compute(int bundle) { body.steps.push_back({IssueKind::compute, 0, bundle, 0}); }
  void start(int collective, int channel = 0) {
    body.steps.push_back({IssueKind::start, channel, collective, 0});
  }
  void wait(int back = 0) { body.steps.push_back({IssueKind::wait, 0, 0, back}); }

  std::string order(bool beside) const {
    std::string text;
    const auto kernel = [&](std::int32_t c, std::int32_t ordinal, Piece piece) {
      const char* pieces[]{"", "/m", "-m"};
      text += (c == 1 ? " product" : " map") + std::to_string(ordinal) +
              pieces[static_cast<int>(piece)];
    };
    const auto communicate = [&](const FoldedStep& step) {
      text += step.kind == IssueKind::start ? " start" : " wait";
      text +=
          step.kind == IssueKind::start ? std::to_string(step.index) : std::to_string(step.back);
    };
    PieceOrder(folded, body).each(beside, kernel, communicate);
    return text;
  }
};

// It starts with the piece that is there and ends with the one that comes last; still waits for
// what it waited for where more is started meanwhile; and leaves alone what no product follows or
// precedes.
TEST(PieceOrder, PutsOtherPiecesOfProductsBesideTheirCollectives) {
  Written both, more, neither;
  both.compute(0);
  both.start(0);
  both.wait();
  both.compute(1);
  both.start(1);
  both.wait();
  more.start(0);
  more.wait();
  more.start(0);
  more.start(0, 1);
  more.compute(2);
  more.wait();
  neither.start(0);
  neither.wait();
  neither.compute(0);
  neither.start(1);
  neither.wait();

  EXPECT_EQ(both.order(false), " map0 start0 wait0 product1 map2 product3 start1 wait0");
  EXPECT_EQ(both.order(true),
            " map0 start0 product1-m wait0 product1/m map2 product3/m start1 product3-m wait0");
  EXPECT_EQ(more.order(true), " start0 start0 start0 product0-m wait1 product0/m wait0");
  EXPECT_EQ(neither.order(true), neither.order(false));
}

struct Compared {
  Estimate plain, beside;
};

// Without what kernels and collectives lose beside each other.
DrawnPoint without_interference(std::int64_t number) {
  DrawnPoint drawn = drawn_point(number, 64);
  drawn.platform.processor.interference = 0.0;
  drawn.platform.library.interference = 0.0;
  drawn.platform.processor.repetition_spread = 0.0;
  return drawn;
}

Compared compared(DrawnPoint drawn) {
  Compared result;
  result.plain = estimate_step(drawn.point, drawn.platform);
  drawn.platform.software.beside_products = true;
  result.beside = estimate_step(drawn.point, drawn.platform);
  return result;
}

TEST(BesideProducts, ComputeAndMemoryAreTheSameAndNothingTakesLonger) {
  int shorter = 0;
  for (std::int64_t number = 0; number < 300; ++number) {
    const DrawnPoint drawn = without_interference(number);
    if (drawn.point.options.order == PipelineOrder::message_driven) continue;
    const auto [plain, beside] = compared(drawn);
    const std::string words = drawn.step_words + drawn.words;
    EXPECT_NEAR(beside.outcome.compute.value / plain.outcome.compute.value, 1.0, 1e-9) << words;
    EXPECT_EQ(beside.memory.peak, plain.memory.peak) << words;
    EXPECT_LE(beside.outcome.total.value, plain.outcome.total.value * (1 + 1e-9)) << words;
    if (beside.outcome.total.value < plain.outcome.total.value * (1 - 1e-6)) ++shorter;
  }
  EXPECT_GT(shorter, 20);
}

TEST(BesideProducts, SaysNothingWhereTokensAreNotCutByX) {
  for (std::int64_t number = 0; number < 100; ++number) {
    DrawnPoint drawn = drawn_point(number, 64);
    drawn.point.options.sequence_parallel = false;
    const auto [plain, beside] = compared(drawn);
    EXPECT_EQ(beside.outcome.total, plain.outcome.total) << drawn.step_words + drawn.words;
  }
}

TEST(BesideProducts, KernelsAreNamedStepByStep) {
  for (std::int64_t number = 0; number < 60; ++number) {
    DrawnPoint drawn = drawn_point(number, 16);
    drawn.platform.software.beside_products = true;
    const TimedProgram program = lower(drawn.point, drawn.platform);
    EXPECT_NO_THROW(ProgramDetail(drawn.point, drawn.platform, program))
        << drawn.step_words + drawn.words;
  }
}

}  // namespace
}  // namespace fourfold::tests
