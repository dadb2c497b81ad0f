// Steps of every shape of block, drawn over all options: what is counted of the folded step is what
// a slow walk counts through every operation that was recorded, and the same whether a few
// micro-batches are recorded or all. No machine moves these numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedule/fold/pipeline.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/order/step.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/schedule/flat.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t steps_drawn = 75;
constexpr std::int64_t most_devices = 48;

// Shapes in turn; hidden size, heads and their columns, and the MLP's width differ from each other.
DrawnStep drawn_shape(std::int64_t number) {
  const Draw draw(number, 0);
  const std::vector<Model> shapes = shapes_of({"block", 12, 96, 24, 24, 1009});
  DrawnStep step = drawn_step(number + 1000, most_devices,
                              shapes[static_cast<std::size_t>(number) % shapes.size()]);
  step.options.overlap.across_blocks = !draw.often("across", 30);
  if (draw.often("no window", 10)) step.options.in_flight_blocks = 0;
  if (draw.often("data bucket", 40)) {
    step.options.data_bucket = draw.of<std::int64_t>("elements", {5000, 40'000, 200'000});
  }
  return step;
}

// The plain and the odd ones in turn.
DrawnStep step_of(std::int64_t number) {
  return number % 2 == 0 ? drawn_shape(number) : drawn_step(number, most_devices);
}

Schedule whole_schedule(const DrawnStep& step, const Stage& stage) {
  return issue(record_step(step.model, step.options, stage), step.options);
}

Counted folded(const DrawnStep& step, const Stage& stage) {
  return counted(folded_step(step.model, step.options, stage), step.grid,
                 step.micro_batch_tokens());
}

// By channel: collectives of groups of several, their whole buffers, and what a ring sends of them.
struct Sums {
  double payload = 0.0, sent = 0.0;
  std::int64_t collectives = 0;
};

double bytes_of(const Program& program, Id id, const DrawnStep& step) {
  return static_cast<double>(program.local_elements(id, step.grid, {step.micro_batch_tokens()}) *
                             bytes_per_element(program[id].precision));
}

std::map<std::string, Sums> counted_one_by_one(const Program& program, const DrawnStep& step) {
  std::map<std::string, Sums> sums;
  for (const Op& op : program.ops) {
    const bool gathers = op.kind == OpKind::all_gather, sums_up = op.kind == OpKind::all_reduce;
    if (!gathers && !sums_up && op.kind != OpKind::reduce_scatter) continue;
    const Channel& channel = program.channels[static_cast<std::size_t>(op.channel)];
    const auto members =
        static_cast<double>(channel.group == Group::ends ? 2 : step.grid.extent(op.axis));
    if (members < 2) continue;
    double buffer = 0.0;
    for (Id id : gathers ? op.outputs : op.inputs) buffer += bytes_of(program, id, step);
    Sums& all = sums[name(channel)];
    ++all.collectives;
    all.payload += buffer;
    all.sent += buffer * (sums_up ? 2.0 : 1.0) * (members - 1) / members;
  }
  return sums;
}

TEST(DrawnShapes, CountTheCollectivesThatTheirProgramsHave) {
  for (std::int64_t number = 0; number < steps_drawn; ++number) {
    const DrawnStep step = step_of(number);
    const std::int64_t stages = step.grid.extent(Axis::pipe);
    const Stage stage{number / 2 % stages, stages};
    const Program program = whole_schedule(step, stage).program;
    SCOPED_TRACE(words_of(step));

    const Counts counts = folded(step, stage).counts;

    const std::map<std::string, Sums> expected = counted_one_by_one(program, step);
    std::size_t seen = 0;
    for (std::size_t c = 0; c < counts.channels.size(); ++c) {
      const Channel& channel = counts.channels[c];
      const bool messages = channel.axis == Axis::pipe && !expected.contains(name(channel));
      if (messages || counts.collectives[c] == 0) continue;
      ASSERT_TRUE(expected.contains(name(channel))) << name(channel);
      const Sums& sums = expected.at(name(channel));
      EXPECT_EQ(counts.collectives[c], sums.collectives) << name(channel);
      EXPECT_NEAR(counts.payload[c].value / sums.payload, 1.0, 1e-12) << name(channel);
      EXPECT_NEAR(counts.sent[c].value / sums.sent, 1.0, 1e-12) << name(channel);
      ++seen;
    }
    EXPECT_EQ(seen, expected.size());
  }
}

TEST(DrawnShapes, FoldedAreTheScheduleStepForStep) {
  int compared = 0;
  for (std::int64_t number = 0; number < 4 * steps_drawn; ++number) {
    DrawnStep step = step_of(number);
    if (step.grid.extent(Axis::pipe) > 1) continue;
    step.options.data_bucket = step.options.offload_bucket = 0;
    ++compared;

    EXPECT_EQ(first_difference(flat(folded_step(step.model, step.options)),
                               flat(whole_schedule(step, {}))),
              "")
        << words_of(step);
  }
  EXPECT_GT(compared, 40);
}

// Bytes that a product moves: each operand once, each result once.
TEST(DrawnShapes, MoveEveryOperandAndResultOnce) {
  for (std::int64_t number = 0; number < steps_drawn; ++number) {
    const DrawnStep step = step_of(number);
    const std::int64_t stages = step.grid.extent(Axis::pipe);
    SCOPED_TRACE(words_of(step));

    const Counted counted = folded(step, {number / 2 % stages, stages});

    EXPECT_EQ(counted.memory.on_host.value > 0.0, step.options.offload_bucket > 0);
    std::size_t products = 0;
    for (const OpClass& op : counted.folded.classes) {
      if (op.kind != OpKind::gemm) continue;
      ++products;
      double bytes = 0.0;
      for (const auto* list : {&op.reads, &op.writes}) {
        for (std::int32_t size : *list) {
          bytes += counted.sizes.bytes[static_cast<std::size_t>(size)];
        }
      }
      EXPECT_EQ(op_traffic(op, counted.sizes).value, bytes);
      EXPECT_TRUE(moves(op, counted.sizes));
    }
    EXPECT_GT(products, 0U);
  }
}

// Of so many micro-batches that most need not be recorded, with options that other tests do not
// draw.
DrawnStep drawn_long(std::int64_t number) {
  DrawnStep step = drawn_step(number, 96);
  const Draw draw(number, 0);
  const std::int64_t times = draw.of<std::int64_t>("times", {1, 3, 5});
  step.options.micro_batches *= times;
  step.batch *= times;
  step.options.overlap.across_blocks = !draw.often("across", 30);
  step.options.recompute =
      draw.of("any recompute", {Recompute::full, Recompute::full, Recompute::none,
                                Recompute::selective, Recompute::mlp, Recompute::norms});
  step.options.recompute_every = draw.of<std::int64_t>("every", {1, 1, 2});
  step.options.recompute_layers = draw.of<std::int64_t>("layers", {0, 0, 1});
  step.options.offload_activations = draw.often("offload activations", 40);
  step.options.data_bucket = draw.of<std::int64_t>("data bucket", {0, 0, 5000, 4'000'000});
  step.options.phase = draw.of(
      "phase", {Phase::training, Phase::training, Phase::training, Phase::prefill, Phase::decode});
  return step;
}

// The fold records a few micro-batches and repeats the last period.
TEST(DrawnSteps, CountTheSameWithEveryMicroBatchRecorded) {
  for (std::int64_t number = 0; number < 100; ++number) {
    const DrawnStep step = drawn_long(number);
    const std::int64_t count_of_stages = step.grid.extent(Axis::pipe);
    SCOPED_TRACE(words_of(step));
    const std::vector<Folded> stages = folded_stages(step.model, step.options, count_of_stages);
    const Pipeline pipeline(stages);
    std::vector<LocalSizes> of_kinds;
    for (const StageKind& kind : pipeline.kinds()) {
      of_kinds.emplace_back().evaluate(stages[static_cast<std::size_t>(kind.stage)], step.grid,
                                       {step.micro_batch_tokens()});
    }
    const std::vector<MemoryUse> of_pipeline = peak_memory(pipeline, of_kinds, step.grid);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const Stage stage{static_cast<std::int64_t>(i), count_of_stages};
      SCOPED_TRACE("stage " + std::to_string(i));

      const Counted few = counted(stages[i], step.grid, step.micro_batch_tokens());
      const Counted all =
          counted(fold_schedule(whole_schedule(step, stage)), step.grid, step.micro_batch_tokens());

      const double executed = all.counts.executed().value;
      EXPECT_NEAR(few.counts.executed().value, executed, 1e-12 * executed);
      EXPECT_EQ(few.counts.collectives, all.counts.collectives);
      for (std::size_t c = 0; c < all.counts.sent.size(); ++c) {
        for (const auto of : {&Counts::sent, &Counts::payload}) {
          const double whole = (all.counts.*of)[c].value;
          EXPECT_NEAR((few.counts.*of)[c].value, whole, 1e-12 * whole)
              << name(all.counts.channels[c]);
        }
      }
      for (const MemoryUse& use : {few.memory, of_pipeline[i]}) {
        EXPECT_EQ(use.peak.value, all.memory.peak.value);
        EXPECT_EQ(use.on_host.value, all.memory.on_host.value);
      }
    }
  }
}

std::vector<Id> members_of(const Program& program, Id id) {
  const std::vector<Id>& members = program[id].members;
  return members.empty() ? std::vector{id} : members;
}

// From a sum of squares to the factor: each is read once, so that nothing is counted twice.
void expect_read_once_up_to_the_factor(const Program& program, Id squares) {
  while (true) {
    const Op* reader = nullptr;
    for (const Op& op : program.ops) {
      const auto reads = std::ranges::count(op.inputs, squares);
      ASSERT_TRUE(reads == 0 || (reads == 1 && reader == nullptr)) << program[squares].label.full();
      if (reads == 1) reader = &op;
    }
    ASSERT_NE(reader, nullptr) << program[squares].label.full();
    if (reader->is(functions::norm_factor)) return;
    ASSERT_TRUE(reader->kind == OpKind::add || reader->kind == OpKind::all_reduce);
    squares = reader->outputs[0];
  }
}

// Products with a scale for each 32 elements are others than those with one a matrix.
TEST(DrawnShapes, HaveProductsOfMicroscaledFactorsOnlyWhereTheyAreAskedFor) {
  for (const auto& [products, marked] : {std::pair{ProductPrecision::stored, false},
                                         {ProductPrecision::fp8_delayed, false},
                                         {ProductPrecision::fp8_current, false},
                                         {ProductPrecision::mxfp8, true}}) {
    StepOptions options;
    options.products = products;
    const Program program = record_step(Model{"small", 2, 16, 4, 8, 32}, options);
    EXPECT_EQ(
        std::ranges::any_of(program.ops, [](const Op& op) { return op.is(functions::mx_product); }),
        marked)
        << static_cast<int>(products);
  }
}

// A gradient owes nothing when it comes to its update; its squares are owed along exactly the axes
// that cut it, and are clipped by once: of a table that two stages hold on the first.
TEST(DrawnShapes, PayAndClipEveryGradientOnce) {
  for (std::int64_t number = 0; number < 2 * steps_drawn; ++number) {
    const DrawnStep step = drawn_shape(number);
    const std::int64_t stages = step.grid.extent(Axis::pipe);
    const Stage stage{number / 2 % stages, stages};
    const Program program = record_step(step.model, step.options, stage);
    SCOPED_TRACE(words_of(step));
    std::vector<Id> updated, trained;
    std::set<Id> gradients, squared;
    for (const Parameter& parameter : program.parameters) trained.push_back(parameter.first_moment);
    for (const Op& op : program.ops) {
      if (op.kind == OpKind::update) {
        for (const Parameter& parameter : op.updated()) updated.push_back(parameter.first_moment);
        EXPECT_EQ(program[op.inputs[0]].shape.sharding.partial, AxisSet());
        const bool elsewhere = stages > 1 && stage.last() && step.model.tied() &&
                               program[op.inputs[0]].label.full() == "vocabulary.gradients";
        if (!elsewhere) gradients.insert(op.inputs[0]);
      }
      if (!op.is(functions::square_sum)) continue;
      EXPECT_TRUE(squared.insert(op.inputs[0]).second) << "twice";
      EXPECT_EQ(program[op.inputs[0]].shape.sharding.partial, AxisSet());
      const AxisSet owed = program[op.outputs[0]].shape.sharding.partial.without(Axis::pipe);
      for (Id gradient : members_of(program, op.inputs[0])) {
        EXPECT_EQ(program[gradient].shape.sharding.cuts(), owed);
      }
      expect_read_once_up_to_the_factor(program, op.outputs[0]);
    }
    std::ranges::sort(updated);
    EXPECT_EQ(updated, trained);
    EXPECT_EQ(squared, gradients);
  }
}

// "gemm NN of block.qkv": what an operation does, and to what.
std::string does(const Program& program, const Op& op) {
  std::string text = std::string(name(op.kind)) + " " + op.function->name + " " + name(op.form) +
                     " " + name(op.axis) + " " + std::to_string(op.attributes.sequence);
  for (const auto* list : {&op.inputs, &op.outputs}) {
    for (Id id : *list) text += " " + program[id].label.full();
  }
  return text;
}

TEST(DrawnShapes, AreEvaluatedAsTheirStepsGoForward) {
  for (std::int64_t number = 0; number < steps_drawn; number += 2) {
    DrawnStep step = drawn_shape(number);
    step.options.offload_bucket = 0;
    const std::int64_t stages = step.grid.extent(Axis::pipe);
    const Stage stage{number / 2 % stages, stages};
    const Program evaluated = record_evaluation(step.model, step.options, stage);
    const Program trained = record_step(step.model, step.options, stage);
    std::set<std::string> of_step;
    for (const Op& op : trained.ops) of_step.insert(does(trained, op));
    SCOPED_TRACE(words_of(step));

    std::size_t products = 0;
    for (const Op& op : evaluated.ops) {
      EXPECT_TRUE(of_step.contains(does(evaluated, op))) << does(evaluated, op);
      EXPECT_NE(op.kind, OpKind::update);
      EXPECT_NE(op.form == GemmForm::tn && op.kind == OpKind::gemm, true) << "a gradient";
      products += op.kind == OpKind::gemm ? 1U : 0U;
    }
    for (const Value& value : evaluated.values) {
      EXPECT_NE(value.role, Role::gradient) << value.label.full();
      EXPECT_NE(value.role, Role::optimizer) << value.label.full();
    }
    EXPECT_GT(products, 0U);
  }
}

}  // namespace
}  // namespace fourfold::tests
