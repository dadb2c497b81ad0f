// Names of a folded step: written out, they are those of the step with every micro-batch recorded.
#include "schedule/fold/names.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "schedule/order/step.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
namespace {

// Section by section, as a device runs them.
std::vector<NamedSection> written_out(const NamedStep& step) {
  std::vector<NamedSection> all;
  std::size_t next = 0;
  for (const BodyCycle& cycle : step.folded.cycles) {
    std::size_t sections = 0;
    for (const BodyRun& run : cycle.runs) sections += static_cast<std::size_t>(run.repeats);
    const std::int64_t stretch = cycle.period.stretch;
    sections *= static_cast<std::size_t>(rounds_said(cycle));
    const std::int64_t rounds = cycle.repeats / rounds_said(cycle);
    const std::int64_t micro_batches =
        stretch < 0 ? 0 : step.folded.steady.at(static_cast<std::size_t>(stretch)).micro_batches;
    for (std::int64_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < sections; ++i) {
        all.push_back(step.sections.at(next + i));
        if (all.back().micro_batch >= 0) all.back().micro_batch += round * micro_batches;
      }
    }
    next += sections;
  }
  EXPECT_EQ(next, step.sections.size());
  return all;
}

std::string in_words(const std::string& name, std::int64_t layer, std::int64_t micro_batch) {
  return name + ", layer " + std::to_string(layer) + ", micro-batch " + std::to_string(micro_batch);
}

// Where what is named first differs from what is recorded; empty if it does not.
std::string first_difference(const std::vector<NamedSection>& named, const Program& program) {
  if (named.size() != program.sections.size()) return "another number of sections";
  for (std::size_t i = 0; i < named.size(); ++i) {
    const Section& section = program.sections[i];
    const std::string is = in_words(named[i].name, named[i].layer, named[i].micro_batch);
    const std::string was = in_words(section.name, section.layer, section.micro_batch);
    if (is != was) return std::to_string(i) + ": " + is + " instead of " + was;
  }
  return "";
}

StepOptions of_order(PipelineOrder order, std::int64_t micro_batches, std::int64_t chunks = 1) {
  StepOptions options;
  options.order = order;
  options.micro_batches = micro_batches;
  options.chunks = chunks;
  return options;
}

// With so many micro-batches that most of them are not recorded.
std::vector<StepOptions> long_orders(std::int64_t stages) {
  std::vector<StepOptions> all{of_order(PipelineOrder::one_f_one_b, 29),
                               of_order(PipelineOrder::gpipe, 23)};
  if (stages == 1) return all;
  all.push_back(of_order(PipelineOrder::zero_bubble, 31));
  all.push_back(of_order(PipelineOrder::message_driven, 27));
  for (std::int64_t chunks : {2, 3}) {
    all.push_back(of_order(PipelineOrder::interleaved, 12 * stages, chunks));
  }
  return all;
}

TEST(SectionNames, AreThoseOfEveryMicroBatchWhateverTheOrder) {
  for (std::int64_t stages : {1, 2, 4}) {
    const Model model = small_model(7 + 3 * stages);
    for (const StepOptions& options : long_orders(stages)) {
      for (std::int64_t i = 0; i < stages; ++i) {
        const Stage stage{i, stages};

        const NamedStep step = named_step(model, options, stage);

        EXPECT_EQ(first_difference(written_out(step), record_step(model, options, stage)), "")
            << name(options.order) << ", stage " << i << " of " << stages;
      }
    }
  }
}

TEST(SectionNames, AreThoseOfEveryMicroBatchWhateverTheOptions) {
  std::mt19937 random(31);
  for (int i = 0; i < 60; ++i) {
    StepOptions options = random_options(random, 1 + i % 13);
    const Model model = small_model(4 + i % 3);
    const Stage stage = i % 2 == 0 ? Stage{} : Stage{i % 3, 3};
    if (i % 5 == 1) options.order = PipelineOrder::gpipe;

    const NamedStep step = named_step(model, options, stage);

    EXPECT_EQ(first_difference(written_out(step), record_step(model, options, stage)), "")
        << described(options);
  }
}

// One for each kernel and for each start, and no more.
TEST(BodyNames, AreAsManyAsKernelsAndStarts) {
  for (std::int64_t number = 0; number < 40; ++number) {
    const DrawnStep step = drawn_step(number, 96);
    const std::int64_t stages = step.grid.extent(Axis::pipe);
    const NamedStep named = named_step(step.model, step.options, {number % stages, stages});
    const Folded& folded = named.folded;

    ASSERT_EQ(named.bodies.size(), folded.bodies.size());
    for (std::size_t b = 0; b < folded.bodies.size(); ++b) {
      std::size_t kernels = 0, starts = 0;
      for (const FoldedStep& one : folded.bodies[b].steps) {
        if (one.kind == IssueKind::start) ++starts;
        if (one.kind != IssueKind::compute) continue;
        kernels += folded.bundles[static_cast<std::size_t>(one.index)].size();
      }
      EXPECT_EQ(named.bodies[b].kernels.size(), kernels) << words_of(step);
      EXPECT_EQ(named.bodies[b].collectives.size(), starts) << words_of(step);
    }
  }
}

// Of every operation of every shape of block, drawn over the options: what it writes, without the
// layer, then what it does; so two operations that do different things never share a name.
TEST(OperationNames, SayWhatIsWrittenAndHow) {
  std::map<std::string, std::pair<OpKind, GemmForm>> kinds;
  for (std::int64_t number = 0; number < 60; ++number) {
    const DrawnStep step = drawn_step(number, 96);
    const std::int64_t stages = step.grid.extent(Axis::pipe);
    const auto shapes = shapes_of(small_model(stages * step.options.chunks));
    const Model& model = shapes[static_cast<std::size_t>(number) % shapes.size()];
    StepOptions options = step.options;
    options.micro_batches = std::min<std::int64_t>(options.micro_batches, 4);
    if (options.chunks > 1) options.micro_batches = stages;
    for (std::int64_t i = 0; i < stages; ++i) {
      const Program program = record_step(model, options, {i, stages});
      for (const Op& op : program.ops) {
        const std::string one = op_name(program, op);
        const auto place = kinds.try_emplace(one, op.kind, op.form).first;
        EXPECT_TRUE(place->second == std::pair(op.kind, op.form)) << one << " is two operations";
      }
    }
  }
  for (const char* one :
       {"block.qkv gemm NN", "block.qkv.dinput gemm NT", "block.qkv.dweight gemm TN",
        "block.qkv.weight all_gather z", "block.qkv.dweight reduce_scatter z",
        "block.down all_reduce x", "block.attention attention forward", "block.gelu map bias_gelu",
        "block.norm1.squares reduce row_squares", "block.middle add", "block.gradients pack",
        "block.gradients update", "block.gradients.norm all_reduce pipe", "block.dinput send pipe",
        "block.dinput cut"}) {
    EXPECT_TRUE(kinds.contains(one)) << one;
  }
  EXPECT_EQ(kinds.contains("block0.qkv gemm NN"), false) << "a layer of its own";
}

}  // namespace
}  // namespace fourfold::tests
