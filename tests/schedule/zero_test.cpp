// ZeRO, sequence parallelism and buckets along data in bytes: what is cut, what goes together, and
// what is sent for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/program/recorder.hpp"
#include "tests/refusal.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t layers = 6;
const ProcessGrid copies(1, 1, 1, 4);

Model model() {
  return small_model(layers);
}

std::int64_t square() {
  return model().hidden * model().hidden;
}

StepOptions bucketed(std::int64_t elements, std::int64_t zero, DataReduction reduction) {
  StepOptions options;
  options.micro_batches = 2;
  options.zero = zero;
  options.data_bucket = elements;
  options.data_reduction = reduction;
  return options;
}

// Of collectives of several weights of blocks: how many each has, in the order of the program.
std::vector<std::size_t> together(const Program& program, OpKind kind) {
  std::vector<std::size_t> sizes;
  for (const Op& op : program.ops) {
    if (op.kind != kind || op.axis != Axis::data) continue;
    const Value& first = program[op.buffers()[0]];
    const Value& value = first.members.empty() ? first : program[first.members[0]];
    if (value.label.owner != "block") continue;
    sizes.push_back(first.members.empty() ? op.buffers().size() : first.members.size());
  }
  return sizes;
}

double sent(const Counts& counts) {
  double sum = 0;
  for (Bytes bytes : counts.sent) sum += bytes.value;
  return sum;
}

std::int64_t collectives(const Counts& counts) {
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < counts.channels.size(); ++c) {
    if (counts.channels[c].axis == Axis::data) sum += counts.collectives[c];
  }
  return sum;
}

using Sizes = std::vector<std::size_t>;

TEST(DataBucket, HoldsAsManyWholeBlocksAsItHasRoomFor) {
  const std::int64_t block = 12 * square();
  for (DataReduction reduction : {DataReduction::after_backward, DataReduction::beside_backward}) {
    const auto packs = [&](std::int64_t elements) {
      return together(record_step(model(), bucketed(elements, 0, reduction)), OpKind::all_reduce);
    };

    EXPECT_EQ(packs(0), Sizes(6, 4));
    EXPECT_EQ(packs(block), Sizes(6, 4));
    EXPECT_EQ(packs(2 * block - 1), Sizes(6, 4));
    EXPECT_EQ(packs(2 * block), Sizes(3, 8));
    EXPECT_EQ(packs(4 * block), Sizes({8, 16}));  // the last blocks come first
    EXPECT_EQ(packs(100 * block), Sizes({24}));
  }
}

// A block has 3 squares of the hidden size, 1, 4 and 4.
TEST(DataBucket, HoldsWholeWeightsWhereABlockIsLarger) {
  const auto packs = [&](std::int64_t squares) {
    const StepOptions options = bucketed(squares * square(), 0, DataReduction::after_backward);
    Sizes sizes = together(record_step(model(), options), OpKind::all_reduce);
    return Sizes(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / layers));
  };

  EXPECT_EQ(packs(11), Sizes({1, 3}));
  EXPECT_EQ(packs(8), Sizes({1, 3}));
  EXPECT_EQ(packs(7), Sizes({1, 1, 2}));
  EXPECT_EQ(packs(4), Sizes({1, 1, 2}));
  EXPECT_EQ(packs(3), Sizes({1, 1, 1, 1}));
}

TEST(DataBucket, SendsWhatZeroCutsTogether) {
  const std::int64_t two_blocks = 24 * square();
  for (DataReduction reduction : {DataReduction::after_backward, DataReduction::beside_backward}) {
    const Program alone = record_step(model(), bucketed(0, 1, reduction));
    const Program first = record_step(model(), bucketed(two_blocks, 1, reduction));
    const Program second = record_step(model(), bucketed(two_blocks, 2, reduction));

    EXPECT_EQ(together(alone, OpKind::reduce_scatter), Sizes(24, 1));
    EXPECT_EQ(together(alone, OpKind::all_gather), Sizes(24, 1));
    EXPECT_EQ(together(first, OpKind::reduce_scatter), Sizes(3, 8));
    EXPECT_EQ(together(first, OpKind::all_gather), Sizes(3, 8));
    EXPECT_EQ(together(second, OpKind::reduce_scatter), Sizes(6, 8));  // of each micro-batch
    EXPECT_EQ(together(second, OpKind::all_gather), Sizes(3, 8));
  }
}

TEST(DataBucket, SendsTheSameBytesInFewerCollectives) {
  for (std::int64_t zero : {0, 1, 2, 3}) {
    for (DataReduction reduction :
         {DataReduction::after_backward, DataReduction::beside_backward}) {
      const Counted block_by_block = counted(model(), bucketed(0, zero, reduction), copies, 16);
      const Counted at_once = counted(model(), bucketed(1 << 30, zero, reduction), copies, 16);
      const Counted weight_by_weight = counted(model(), bucketed(1, zero, reduction), copies, 16);

      for (const Counted& other : {at_once, weight_by_weight}) {
        EXPECT_EQ(sent(other.counts), sent(block_by_block.counts));
        EXPECT_EQ(other.counts.executed().value, block_by_block.counts.executed().value);
      }
      EXPECT_LT(collectives(at_once.counts), collectives(block_by_block.counts));
      EXPECT_GE(collectives(weight_by_weight.counts), collectives(block_by_block.counts));
    }
  }
}

// Chunks come in other turns: what is reduced for every micro-batch waits for no other chunk.
TEST(DataBucket, EndsWithTheChunkOfTheStage) {
  StepOptions options = bucketed(1 << 30, 2, DataReduction::after_backward);
  options.order = PipelineOrder::interleaved;
  options.chunks = 3;

  const Program program = record_step(model(), options, Stage{0, 2});

  EXPECT_EQ(together(program, OpKind::all_gather), Sizes(3, 4));
  EXPECT_EQ(together(program, OpKind::reduce_scatter), Sizes(6, 4));
}

TEST(SeveralValues, AreSentAsOneIfTheyAreOwedAndOfOnePrecision) {
  Recorder r;
  Shape owed{8, 8, {{}, {}, {Axis::z}, {Axis::data}, Owed::sum}};
  Shape complete{8, 8, {{}, {}, {Axis::z}, {}, Owed::sum}};
  const Id first = r.data("first", owed, Precision::fp32);
  const Id second = r.data("second", owed, Precision::fp32);
  const Id half = r.data("half", owed, Precision::bf16);
  const Id whole = r.data("whole", complete, Precision::fp32);
  const auto refused = [&](const std::vector<Id>& values) {
    return refusal([&] { r.reduce_scatter(values, Axis::data, Hiding::never); });
  };

  const std::vector<Id> pieces = r.reduce_scatter({first, second}, Axis::data, Hiding::never);

  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(r.value(pieces[1]).shape.sharding.pieces, (Cuts{Axis::z, Axis::data}));
  EXPECT_EQ(r.value(pieces[1]).label.full(), "second");
  EXPECT_THAT(refused({first, half}), ::testing::HasSubstr("differ in precision: first"));
  EXPECT_THAT(refused({first, whole}), ::testing::HasSubstr("no sum owed: whole"));
}

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

}  // namespace
}  // namespace fourfold::tests
