// Messages that devices along x send in parts: their bytes, what is gathered instead, and what the
// recorder refuses to cut.
#include <gtest/gtest.h>

#include <functional>

#include "schedule/program/recorder.hpp"
#include "tests/refusal.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t tokens = 48;

StepOptions with_messages(bool cut, PipelineOrder order = PipelineOrder::one_f_one_b) {
  StepOptions options;
  options.order = order;
  options.micro_batches = 6;
  options.cut_messages = cut;
  return options;
}

Bytes payload(const Counted& stage, const std::function<bool(const Channel&)>& of) {
  Bytes sum;
  for (std::size_t c = 0; c < stage.counts.channels.size(); ++c) {
    if (of(stage.counts.channels[c])) sum += stage.counts.payload[c];
  }
  return sum;
}

bool between_stages(const Channel& channel) {
  return channel.axis == Axis::pipe && channel.group != Group::line && channel.group != Group::ends;
}

bool along_x(const Channel& channel) {
  return channel.axis == Axis::x;
}

TEST(CutMessages, AreAsManyTimesShorterAsDevicesAlongXAndGatheredThere) {
  for (const std::int64_t x : {1, 2, 4}) {
    const ProcessGrid grid(x, 1, 1, 2, 3);
    for (PipelineOrder order : {PipelineOrder::one_f_one_b, PipelineOrder::zero_bubble}) {
      for (std::int64_t i = 0; i < 3; ++i) {
        const Stage stage{i, 3};
        const auto whole =
            counted(folded_step(small_model(3), with_messages(false, order), stage), grid, tokens);
        const auto cut =
            counted(folded_step(small_model(3), with_messages(true, order), stage), grid, tokens);

        const Bytes all = payload(whole, between_stages);
        EXPECT_GT(all.value, 0.0);
        EXPECT_EQ(payload(cut, between_stages).value * static_cast<double>(x), all.value);
        // Of what passes a stage, it receives one way what it sends the other way.
        const double received = x > 1 ? all.value / 2 : 0.0;
        EXPECT_EQ(payload(cut, along_x).value - payload(whole, along_x).value, received);
        EXPECT_EQ(cut.counts.executed().value, whole.counts.executed().value);
        if (x > 1) continue;
        EXPECT_EQ(cut.memory.peak.value, whole.memory.peak.value) << "a piece is the whole";
      }
    }
  }
}

// Where tokens are cut by x between blocks, so are messages.
TEST(CutMessages, AreThoseOfSequenceParallelismAlready) {
  StepOptions options = with_messages(false);
  options.sequence_parallel = true;
  StepOptions both = options;
  both.cut_messages = true;

  EXPECT_EQ(record_step(small_model(2), options, Stage{0, 2}).ops.size(),
            record_step(small_model(2), both, Stage{0, 2}).ops.size());
}

TEST(CutMessages, AreCutFromWhatAllHaveOnly) {
  Recorder r;
  const Id partial = r.data("partial", {4, 8, {{}, {}, {}, {Axis::x}, Owed::sum}}, Precision::bf16);
  const Id by_columns =
      r.data("columns", {4, 8, {{}, {Axis::x}, {}, {}, Owed::sum}}, Precision::bf16);

  EXPECT_EQ(refusal([&] { r.cut(partial, Axis::x); }),
            "cut: operand not reduced: partial (4 x 8, owes sum {x})");
  EXPECT_EQ(refusal([&] { r.cut(by_columns, Axis::x); }),
            "cut: already cut: columns (cols {x}) along x");
  EXPECT_EQ(r.value(r.cut(by_columns, Axis::z)).shape.sharding.str(), "cols {x} pieces {z}");
}

}  // namespace
}  // namespace fourfold::tests
