// Forward and backward of one layer of the 22-billion-parameter model on 8 devices of Selene, as
// Korthikanti et al. (arXiv:2205.05198) measured them, beside ours: nothing is fitted to them.
#include <gtest/gtest.h>

#include <map>

#include "schedule/models/model_file.hpp"
#include "sim/cost/kernel_time.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/timeline.hpp"
#include "tests/points.hpp"

namespace fourfold::tests {
namespace {

struct Layer {
  double forward = 0.0, backward = 0.0;  // ms
};

struct Row {
  const char* what;
  Recompute recompute;
  bool sequence_parallel;
  Layer published;
};
constexpr Row rows[]{{"baseline", Recompute::none, false, {7.7, 11.9}},
                     {"sequence parallel", Recompute::none, true, {7.2, 11.8}},
                     {"full recompute", Recompute::full, false, {7.7, 19.5}},
                     {"selective", Recompute::selective, false, {7.7, 13.2}},
                     {"selective, sequence parallel", Recompute::selective, true, {7.2, 13.1}}};

// Unfused attention, tensor parallelism over the node, a micro-batch of 4 sequences.
Layer layer_of(const std::string& software, Recompute recompute, bool sequence_parallel) {
  const Platform platform = read_platform("selene", {}, software);
  Point point = made_up_point("selene", read_model("gpt-22b-selene"), ProcessGrid(8, 1, 1, 1), 4);
  point.software = software;
  point.options.attention = AttentionKernel::unfused;
  point.options.recompute = recompute;
  point.options.sequence_parallel = sequence_parallel;
  const TimedProgram program = lower(point, platform);
  const ProgramDetail detail(point, platform, program);
  std::map<std::string, std::pair<double, double>> from_to;
  for (const Span& span :
       timeline(estimated_log(program), detail, LoggedRepetitions::all(program), Repeated::all)) {
    const NamedSection& section = detail.sections()[static_cast<std::size_t>(span.section)];
    if (section.layer != 20 || span.kind == SpanKind::collective) continue;
    const auto [found, fresh] = from_to.try_emplace(section.name, span.start.value, span.end.value);
    found->second.first = std::min(found->second.first, span.start.value);
    found->second.second = std::max(found->second.second, span.end.value);
  }
  const auto milliseconds = [&](const char* section) {
    return 1e3 * (from_to.at(section).second - from_to.at(section).first);
  };
  return {milliseconds("forward"), milliseconds("backward")};
}

// And longer than with the ideal software.
TEST(LayerTimes, OfKorthikantiAreOursWithinTenPercent) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const Layer ours = layer_of("megatron-lm-2022", row.recompute, row.sequence_parallel);

    EXPECT_NEAR(ours.forward / row.published.forward, 1.0, 0.1);
    EXPECT_NEAR(ours.backward / row.published.backward, 1.0, 0.1);
    const Layer ideal = layer_of("fused", row.recompute, row.sequence_parallel);
    EXPECT_GT(ours.forward, ideal.forward);
    EXPECT_GT(ours.backward, ideal.backward);
  }
}

TEST(LayerTimes, DifferAsRecomputeAndSequenceParallelismSay) {
  const Layer none = layer_of("fused", Recompute::none, false);
  const Layer full = layer_of("fused", Recompute::full, false);
  const Layer selective = layer_of("fused", Recompute::selective, false);
  const Layer cut = layer_of("fused", Recompute::none, true);

  EXPECT_NEAR(full.backward, none.backward + none.forward, 0.01);
  EXPECT_EQ(selective.forward, none.forward);
  // Scores of 8 heads of 96 columns and 4 sequences, in tiles; the softmax reads and writes them at
  // 1,710 GB/s; two launches of 2 us.
  const Platform selene = read_platform("selene", {}, "fused");
  const double flops = 2.0 * 8 * 4 * 2048 * 2048 * 96;
  const double scores = slowest(selene.processor, 8) * flops /
                        batched_rate(selene.processor, {32, 2048, 96, 2048}).value;
  const double pairs = 2.0 * 8 * 4 * 2048 * 2048;
  EXPECT_NEAR(selective.backward - none.backward, 1e3 * (scores + 2 * pairs / 1710e9) + 0.004,
              0.001);
  EXPECT_LT(cut.forward, none.forward);
}

}  // namespace
}  // namespace fourfold::tests
