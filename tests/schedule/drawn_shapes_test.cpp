// Steps of every shape of block, drawn over all options: what the recorder writes down of each,
// value by value and operation by operation, and what is counted of it. No machine moves these
// numbers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "schedule/fold/count.hpp"
#include "schedule/fold/memory.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/order/step.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/golden.hpp"
#include "tests/shapes.hpp"

namespace fourfold {
namespace {

using testing::Checksum;
using testing::Draw;
using testing::drawn_step;
using testing::DrawnStep;

constexpr std::int64_t steps_drawn = 75;
constexpr std::int64_t most_devices = 48;

// Shapes in turn; hidden size, heads and their columns, and the MLP's width differ from each other.
DrawnStep drawn_shape(std::int64_t number) {
  const Draw draw(number, 0);
  const std::vector<Model> shapes = shapes_of({"block", 12, 96, 24, 24, 1009});
  DrawnStep step = drawn_step(number + 1000, most_devices,
                              shapes[static_cast<std::size_t>(number) % shapes.size()]);
  step.options.overlap.across_blocks = !draw.often("across", 30);
  if (draw.often("data bucket", 40)) {
    step.options.data_bucket = draw.of<std::int64_t>("elements", {5000, 40'000, 200'000});
  }
  return step;
}

std::string short_words(Hiding hiding) {
  constexpr const char* names[]{"never",      "all_reduce",       "reduce_scatter",
                                "all_gather", "recompute_gather", "data_reduce",
                                "message"};
  return names[static_cast<int>(hiding)];
}

// Of every value: how it is called, lies and is kept.
std::uint64_t of_values(const Program& program) {
  Checksum sum;
  for (const Value& value : program.values) {
    sum(value.label.full())(value.label.alike())(value.shape.rows.str())(value.shape.cols.str());
    sum(value.shape.sharding.str())(name(value.precision))(name(value.role));
    sum(static_cast<int>(value.weight))(value.persistent)(value.on_host)(std::ssize(value.members));
    for (Id member : value.members) sum(member);
  }
  for (const Parameter& p : program.parameters) {
    sum(p.weight)(p.master)(p.first_moment)(p.second_moment);
  }
  for (Id id : program.kept) sum(id);
  return sum(program.targets)(program.loss)(program.logits).value();
}

// Of every operation: what it does to which values, and when it may.
std::uint64_t of_operations(const Program& program) {
  Checksum sum;
  for (const Op& op : program.ops) {
    sum(name(op.kind))(op.function->name)(name(op.form))(op.channel)(name(op.axis));
    sum(static_cast<int>(op.direction))(short_words(op.hiding))(op.deferrable);
    sum(op.sequence)(op.group)(op.bucket);
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (Id id : *list) sum(id);
      sum(-1);
    }
  }
  for (const Section& section : program.sections) {
    sum(section.name)(section.layer)(section.micro_batch)(section.first_op)(section.turn);
  }
  for (const Channel& channel : program.channels)
    sum(name(channel))(static_cast<int>(channel.group));
  return sum.value();
}

// The stream with the lives of its buffers.
std::uint64_t of_stream(const Schedule& schedule) {
  Checksum sum;
  for (const Issue& issue : schedule.stream) {
    sum(static_cast<int>(issue.kind))(issue.id)(issue.back);
    sum(static_cast<int>(issue.existence))(name(issue.axis));
  }
  return sum.value();
}

// "12 gemm, 4 all_gather"
std::string kinds_of(const Program& program) {
  std::map<std::string, int> kinds;
  for (const Op& op : program.ops) {
    ++kinds[name(op.kind) + (op.hiding == Hiding::never ? "" : " " + short_words(op.hiding))];
  }
  std::string text;
  for (const auto& [kind, times] : kinds) {
    text += (text.empty() ? "" : ", ") + std::to_string(times) + " " + kind;
  }
  return text;
}

std::string text_of(const MemoryUse& use) {
  std::string text = fmt::format("{:.13g} =", use.peak.value);
  for (Bytes bytes : use.by_role) text += fmt::format(" {:.13g}", bytes.value);
  return text + fmt::format(", on host {:.13g}", use.on_host.value);
}

std::string counts_in_words(const Counts& counts) {
  std::string text =
      fmt::format("flop {:.13g} attention {:.13g};", counts.gemm.value, counts.attention.value);
  for (std::size_t c = 0; c < counts.channels.size(); ++c) {
    if (counts.collectives[c] == 0) continue;
    text += fmt::format(" {} {} {:.13g} {:.13g}", name(counts.channels[c]), counts.collectives[c],
                        counts.payload[c].value, counts.sent[c].value);
  }
  return text;
}

// Of each class of operations once: bytes of memory, bytes from the host, and in how many buckets.
std::string traffic_in_words(const Folded& folded, const LocalSizes& sizes) {
  double moved = 0.0, fetched = 0.0, buckets = 0.0;
  std::int64_t moving = 0;
  for (const OpClass& op : folded.classes) {
    moved += op_traffic(op, sizes).value;
    moving += moves(op, sizes) ? 1 : 0;
    const HostTraffic host = host_traffic(op, sizes);
    fetched += host.one_way.value;
    buckets += host.buckets;
  }
  return fmt::format("{} of {} classes move {:.13g}; from the host {:.13g} in {} buckets", moving,
                     folded.classes.size(), moved, fetched, buckets);
}

TEST(DrawnShapes, AreRecordedAndCountedAsTheGoldenNumbers) {
  std::string text;
  for (std::int64_t number = 0; number < steps_drawn; ++number) {
    const DrawnStep step = drawn_shape(number);
    const std::int64_t stages = step.grid.extent(Axis::pipe);
    text += fmt::format("{}: {}\n", number, words_of(step));
    const Stage stage{number / 2 % stages, stages};
    StepOptions few = step.options;
    few.micro_batches = few.chunks > 1 ? stages : std::min<std::int64_t>(few.micro_batches, 3);
    const Schedule schedule = issue(record_step(step.model, few, stage), few);
    text += fmt::format("  stage {} of {} micro-batches: {:016x} {:016x} {:016x}\n    {}\n",
                        stage.index, few.micro_batches, of_values(schedule.program),
                        of_operations(schedule.program), of_stream(schedule),
                        kinds_of(schedule.program));
    const Folded folded = folded_step(step.model, step.options, stage);
    LocalSizes sizes;
    sizes.evaluate(folded, step.grid, {step.micro_batch_tokens()});
    text += fmt::format("  {}\n  {}\n  {}\n", counts_in_words(count(folded, sizes, step.grid)),
                        traffic_in_words(folded, sizes),
                        text_of(peak_memory(folded, sizes, step.grid)));
  }

  expect_golden("drawn_shapes.txt", text);
}

TEST(DrawnShapes, AreEvaluatedAsTheGoldenNumbers) {
  std::string text;
  for (std::int64_t number = 0; number < steps_drawn; number += 2) {
    const DrawnStep step = drawn_shape(number);
    const std::int64_t stages = step.grid.extent(Axis::pipe);
    const Stage stage{number / 2 % stages, stages};
    const Schedule schedule =
        issue(record_evaluation(step.model, step.options, stage), step.options);
    text +=
        fmt::format("{}: {}\n  stage {}: {:016x} {:016x} {:016x}\n    {}\n", number, words_of(step),
                    stage.index, of_values(schedule.program), of_operations(schedule.program),
                    of_stream(schedule), kinds_of(schedule.program));
  }

  expect_golden("drawn_evaluations.txt", text);
}

}  // namespace
}  // namespace fourfold
