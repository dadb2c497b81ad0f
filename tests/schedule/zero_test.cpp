// ZeRO and sequence parallelism in bytes: what is cut, and what is sent for it.
#include <gtest/gtest.h>

#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

StepOptions zero(std::int64_t stage) {
  StepOptions options;
  options.zero = stage;
  options.micro_batches = 3;
  return options;
}

double bytes(const Counted& step, Role role) {
  double sum = 0;
  for (const BufferEvent& event : step.folded.persistent) {
    if (event.role != role) continue;
    sum += event.sign * step.sizes.bytes[static_cast<std::size_t>(event.size)];
  }
  return sum;
}

double sent(const Counts& counts) {
  double sum = 0;
  for (Bytes bytes : counts.sent) sum += bytes.value;
  return sum;
}

// Of a model whose matrices divide by four: biases and norms are not cut.
TEST(Zero, CutsTheOptimizersStateAlongData) {
  const Model model = small_model(3);
  const ProcessGrid grid(1, 1, 1, 4);

  const Counted plain = counted(model, zero(0), grid, 24);
  const Counted first = counted(model, zero(1), grid, 24);
  const Counted third = counted(model, zero(3), grid, 24);

  double small = 0;  // parameters that are not cut
  double cut = 0;
  const Program program = record_step(model, zero(3));
  for (const Parameter& parameter : program.parameters) {
    const Value& master = program[parameter.master];
    const double all =
        static_cast<double>(master.shape.rows.value({}) * master.shape.cols.value({}));
    (master.shape.flat() ? cut : small) += all;
  }
  EXPECT_EQ(bytes(plain, Role::optimizer), 12 * (cut + small));
  EXPECT_EQ(bytes(first, Role::optimizer), 12 * (cut / 4 + small));
  EXPECT_EQ(bytes(first, Role::parameter), 2 * (cut + small));
  EXPECT_EQ(bytes(third, Role::parameter), 2 * (cut / 4 + small));
}

TEST(Zero, OfStageThreeIsInBytesWhatTheSameExtentOnZIs) {
  const Model model = small_model(3);
  for (Recompute recompute : {Recompute::full, Recompute::none}) {
    StepOptions options = zero(3);
    options.recompute = recompute;
    StepOptions plain = options;
    plain.zero = 0;

    const Counted along_data = counted(model, options, ProcessGrid(1, 1, 1, 4), 24);
    const Counted along_z = counted(model, plain, ProcessGrid(1, 1, 4, 1), 24);

    EXPECT_EQ(along_data.memory.peak.value, along_z.memory.peak.value);
    EXPECT_EQ(sent(along_data.counts), sent(along_z.counts));
    EXPECT_EQ(along_data.counts.executed().value, along_z.counts.executed().value);
  }
}

// Reduce-scatter and all-gather send together what the all-reduce sends, gradients in fp32 and
// weights in bf16 (Rajbhandari et al., section 7).
TEST(Zero, OfStageOneSendsTheGradientsOnceAndTheWeightsOnce) {
  const Model model = small_model(3);
  const ProcessGrid grid(1, 1, 1, 4);
  const auto payload = [&](std::int64_t stage, const std::string& channel) {
    const Counts counts = counted(model, zero(stage), grid, 24).counts;
    for (std::size_t c = 0; c < counts.channels.size(); ++c) {
      if (name(counts.channels[c]) == channel) return counts.payload[c].value;
    }
    return -1.0;
  };

  const double norm = 4;  // one number, as its squares are cut along data
  EXPECT_EQ(payload(1, "data_reduce"), payload(0, "data") + norm);
  const Program program = record_step(model, zero(1));
  double cut = 0;
  for (const Parameter& parameter : program.parameters) {
    if (!program[parameter.master].shape.flat()) continue;
    cut +=
        static_cast<double>(program.local_elements(parameter.weight, ProcessGrid(), Quantities{}));
  }
  EXPECT_EQ(payload(1, "data_gather"), 2 * cut);
}

// Korthikanti et al., arXiv:2205.05198: the same bytes forward, one all-gather a pair of products
// more backward; here that is (n - 1)/n of b s h each.
TEST(SequenceParallelism, SendsOneGatherAPairOfProductsMore) {
  const Model model = small_model(4);
  StepOptions options;
  options.micro_batches = 1;
  options.recompute = Recompute::none;
  StepOptions cut = options;
  cut.sequence_parallel = true;
  const ProcessGrid grid(4, 1, 1, 1);

  const double plain = sent(counted(model, options, grid, 24).counts);
  const double by_tokens = sent(counted(model, cut, grid, 24).counts);

  const double stream = 24.0 * 8 * 48 * 2;  // tokens x hidden, bf16
  const double gather = stream * 3 / 4;
  // Two pairs a layer, and the head; the norms' and biases' gradients are reduced along x besides.
  const double small = (4.0 * (2 * 2 * 48 + 2 * 48) + 2 * 48 + 8 * 48) * 4 * 2 * 3 / 4;
  EXPECT_EQ(by_tokens - plain, (2 * 4 + 1) * gather + small);
}

TEST(SequenceParallelism, KeepsAsManyTimesFewerBytesBetweenTheProducts) {
  const Model model = small_model(4);
  StepOptions options;
  options.recompute = Recompute::none;
  options.micro_batches = 1;
  StepOptions cut = options;
  cut.sequence_parallel = true;
  const ProcessGrid grid(4, 1, 1, 1);

  const Counted plain = counted(model, options, grid, 24 * 8);
  const Counted by_tokens = counted(model, cut, grid, 24 * 8);

  EXPECT_LT(by_tokens.memory.peak.value, plain.memory.peak.value);
}

}  // namespace
}  // namespace fourfold::tests
