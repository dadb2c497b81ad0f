// Names of a folded step: written out, they are those of the step with every micro-batch recorded.
// The printed program of a tiny model, as a text to be read; and that each other block and option
// is printed as its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "schedule/fold/names.hpp"
#include "schedule/fold/print.hpp"
#include "schedule/order/step.hpp"
#include "support/field.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/golden.hpp"
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

// Of short steps, and of some with so many micro-batches that most of them are not recorded.
TEST(SectionNames, AreThoseOfEveryMicroBatchWhateverTheOptions) {
  for (std::int64_t number = 0; number < 80; ++number) {
    const DrawnStep step = drawn_step(number, 96);
    StepOptions options = step.options;
    options.micro_batches *= number % 2 == 0 ? 1 : 5;
    const std::int64_t stages = step.grid.extent(Axis::pipe);
    for (std::int64_t i = 0; i < stages; ++i) {
      const NamedStep named = named_step(step.model, options, {i, stages});

      EXPECT_EQ(first_difference(written_out(named), record_step(step.model, options, {i, stages})),
                "")
          << words_of(step) << ", stage " << i;
    }
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
  EXPECT_TRUE(kinds.contains("block.qkv gemm NN"));
  EXPECT_TRUE(kinds.contains("block.dinput send pipe"));
  EXPECT_EQ(kinds.contains("block0.qkv gemm NN"), false) << "a layer of its own";
}

const Model gpt{"gpt-tiny", 1, 48, 12, 16, 128};

TEST(ProgramVariants, OfOtherBlocksArePrintedEachAsItsOwn) {
  std::set<std::string> seen{print_program(gpt, {})};
  for (const Model& model : shapes_of(gpt)) {
    const std::string text = print_program(model, {});
    EXPECT_TRUE(seen.insert(text.substr(text.find('\n'))).second) << model.name;
  }
}

// Each option alone that a program of one stage shows is a program of its own.
TEST(ProgramVariants, OfOtherOptionsArePrintedEachAsItsOwn) {
  std::set<std::string> seen{print_program(gpt, {})};
  for (const auto& [flag, word] :
       std::vector<std::pair<std::string, std::string>>{{"--precision", "fp32"},
                                                        {"--recompute", "none"},
                                                        {"--recompute", "mlp"},
                                                        {"--attention", "unfused"},
                                                        {"--overlap", "none"},
                                                        {"--weight-gather", "keep"},
                                                        {"--zero", "1"},
                                                        {"--zero", "2"},
                                                        {"--zero", "3"},
                                                        {"--data-bucket", "10000"},
                                                        {"--offload-activations", "on"},
                                                        {"--sequence-parallel", "on"},
                                                        {"--grad-precision-z", "fp32"},
                                                        {"--grad-precision-data", "bf16"}}) {
    const std::string text = print_program(gpt, step_fields().with({}, flag, word));
    EXPECT_TRUE(seen.insert(text).second) << flag << ' ' << word;
  }
}

TEST(PrintedProgram, SaysEqualLayersAndMicroBatchesOnce) {
  StepOptions many;
  many.micro_batches = 6;
  Model deep{"gpt-tiny", 3, 64, 4, 16, 128};
  expect_golden("program_gpt-tiny.txt", print_program(deep, {}));
  EXPECT_EQ(print_program(deep, many), print_program(deep, {}));
  deep.layers = 6;
  const auto few = std::ranges::count(print_program(deep, {}), '\n');
  deep.layers = 60;
  const std::string text = print_program(deep, {});

  EXPECT_EQ(std::ranges::count(text, '\n'), few);
  EXPECT_NE(text.find("== forward, layer 0, and 58 more alike =="), std::string::npos);
}

}  // namespace
}  // namespace fourfold::tests
