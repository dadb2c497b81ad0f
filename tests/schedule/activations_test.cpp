// What a layer keeps for its backward, by liveness and to the byte, against Korthikanti et al.
// (arXiv:2205.05198) without dropout: of a layer's 34 s b h + 5 a s^2 b bytes the two masks beside
// the residuals are 2 s b h, and the probabilities' mask and what it leaves are 3 a s^2 b.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

const Model model{"paper", 4, 64, 8, 24, 96};
constexpr std::int64_t sequences = 3;

// Bytes that a stretch of the stream leaves behind.
struct Kept {
  std::int64_t activations = 0;
  // Sums and squares of the rows of both layer norms: 4 numbers a token, which the paper neglects.
  std::int64_t norm_statistics = 0;
};

// By the forward of one layer among equal ones.
Kept kept_by_a_layer(const StepOptions& options, const ProcessGrid& grid) {
  const Schedule schedule = issue(record_step(model, options), options);
  const Program& program = schedule.program;
  constexpr std::int64_t layer = 1;
  std::size_t at = 0;
  while (program.sections[static_cast<std::size_t>(schedule.sections[at].section)].layer != layer) {
    ++at;
  }
  Kept kept;
  for (std::int32_t i = schedule.sections[at].first; i < schedule.sections[at + 1].first; ++i) {
    const Issue& event = schedule.stream[static_cast<std::size_t>(i)];
    if (event.kind != IssueKind::allocate && event.kind != IssueKind::release) continue;
    const bool cut = grid.extent(event.axis) > 1;
    if (event.existence == Existence::if_cut && !cut) continue;
    if (event.existence == Existence::if_uncut && cut) continue;
    const Value& value = program[event.id];
    if (value.role != Role::activation) continue;
    const std::int64_t bytes =
        program.local_elements(event.id, grid, {sequences * model.sequence}) *
        bytes_per_element(value.precision);
    const std::string& name = value.label.name;
    const bool of_norms = name.ends_with(".sum") || name.ends_with(".squares");
    (of_norms ? kept.norm_statistics : kept.activations) +=
        event.kind == IssueKind::allocate ? bytes : -bytes;
  }
  return kept;
}

// The paper's, with t-fold tensor parallelism.
struct Paper {
  std::int64_t t = 1;
  bool sequence_parallel = false;

  std::int64_t sbh() const { return model.sequence * sequences * model.hidden; }
  // What sequence parallelism cuts, and what tensor parallelism cuts alone.
  std::int64_t stream(std::int64_t bytes) const { return sequence_parallel ? bytes / t : bytes; }
  std::int64_t inputs() const { return stream(2 * sbh()); }
  // 2 inputs of norms and 2 of products: 8; Q, K, V, the projection's input, GELU's and its result:
  // 24.
  std::int64_t without_pairs() const { return stream(8 * sbh()) + 24 * sbh() / t; }
  std::int64_t probabilities() const {
    return 2 * model.heads * model.sequence * model.sequence * sequences / t;
  }
  std::int64_t norm_statistics() const { return stream(16 * model.sequence * sequences); }
};

std::vector<Paper> papers() {
  std::vector<Paper> all;
  for (std::int64_t t : {1, 2, 4, 8}) {
    for (bool sequence_parallel : {false, true}) all.push_back({t, sequence_parallel});
  }
  return all;
}

// By recompute. Of the paper's 34 without masks and scores: norms' outputs are two of 2 s b h,
// which the products behind them keep as their inputs; an MLP from its norm to its activation has
// one, and 8 and 8 for what the activation reads and makes. Our fused kernel repeats the scores
// with their maxima and sums: it keeps 0 bytes of softmax statistics, where one that keeps a number
// a row has 4 a s b / t more.
TEST(Activations, AreThePapersWithoutDropout) {
  for (const Paper& paper : papers()) {
    for (AttentionKernel attention : {AttentionKernel::fused, AttentionKernel::unfused}) {
      const bool fused = attention == AttentionKernel::fused;
      const std::int64_t all = paper.without_pairs() + (fused ? 0 : paper.probabilities());
      for (const auto& [recompute, activations] :
           {std::pair{Recompute::none, all},
            {Recompute::selective, paper.without_pairs()},
            {Recompute::norms, all - paper.stream(4 * paper.sbh())},
            {Recompute::mlp, all - paper.stream(2 * paper.sbh()) - 16 * paper.sbh() / paper.t},
            {Recompute::full, paper.inputs()}}) {
        StepOptions options = options_of(recompute, attention);
        options.sequence_parallel = paper.sequence_parallel;
        SCOPED_TRACE("t = " + std::to_string(paper.t) + (paper.sequence_parallel ? ", cut" : "") +
                     ", attention " + name(attention) + ", recompute " + name(recompute));

        const Kept kept = kept_by_a_layer(options, ProcessGrid(paper.t, 1, 1, 1));

        EXPECT_EQ(kept.activations, activations);
        EXPECT_EQ(kept.norm_statistics, recompute == Recompute::full ? 0 : paper.norm_statistics());
      }
    }
  }
}

TEST(SelectiveRecompute, RepeatsOneOfTheTwoProductsOfAttention) {
  const double tokens = static_cast<double>(sequences * model.sequence * model.layers);
  const auto a_token = [&](Recompute recompute) {
    const StepOptions options = options_of(recompute, AttentionKernel::unfused);
    const Counts counts = counted(model, options, ProcessGrid(), sequences).counts;
    return counts.functions.value / tokens / static_cast<double>(model.sequence * model.hidden);
  };

  // In full, as the mask saves no work: 2 products forward, 4 backward.
  EXPECT_DOUBLE_EQ(a_token(Recompute::none), 12);
  EXPECT_DOUBLE_EQ(a_token(Recompute::selective), 14);
  EXPECT_DOUBLE_EQ(a_token(Recompute::full), 16);
}

// Scores, probabilities and both gradients pass through memory: 2 bytes each where they are written
// or read.
TEST(UnfusedAttention, MovesWhatItsKernelsReadAndWrite) {
  const Counted step = counted(model, options_of(Recompute::none, AttentionKernel::unfused),
                               ProcessGrid(), sequences);
  const double pairs = 2.0 * 8 * 24 * 24 * 3, part = 2.0 * 24 * 3 * 64;
  std::map<std::string, double> moved;
  for (const OpClass& op : step.folded.classes) {
    if (op.attributes.sequence > 0) moved[op.function->name] = op_traffic(op, step.sizes).value;
  }

  const std::map<std::string, double> expected{
      {"scores", 2 * part + pairs},           {"causal_softmax", 2 * pairs},
      {"context", 2 * part + pairs},          {"context_backward", 2 * part + pairs},
      {"causal_softmax_backward", 3 * pairs}, {"qkv_backward", 6 * part + 3 * pairs}};
  ASSERT_EQ(moved.size(), expected.size());
  for (const auto& [function, bytes] : expected) {
    EXPECT_NEAR(moved.at(function), bytes, 1e-6) << function;
  }
}

}  // namespace
}  // namespace fourfold::tests
