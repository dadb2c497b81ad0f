// Stages walked side by side, and points as timed programs; see estimate.hpp.
#include "sim/estimate/estimate.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "schedule/fold/memory.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/order/side_by_side.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "sim/cost/lower.hpp"
#include "sim/estimate/memory_of_software.hpp"
#include "sim/estimate/ready_queue.hpp"
#include "sim/estimate/shared_lanes.hpp"
#include "sim/estimate/walk.hpp"

namespace fourfold::inline sim::inline estimate {

namespace {

// All stages, each as far as it can go, until all are through.
template <typename Log>
std::vector<Walk<Log>> walked(const TimedProgram& program, Meetings& meetings) {
  const auto stages = static_cast<std::int64_t>(program.by_stage().size());
  std::vector<Walk<Log>> walks;
  walks.reserve(static_cast<std::size_t>(stages));
  for (std::int64_t i = 0; i < stages; ++i) walks.emplace_back(program, i, meetings);
  const bool ended = side_by_side(
      walks.size(), [&](std::size_t i) { return walks[i].walk(); },
      [&](std::size_t i) { return walks[i].steps(); });
  if (!ended) {
    throw std::invalid_argument(
        "The stages of the pipeline wait for each other for ever: a send or a receive of the "
        "order stands in the wrong place.");
  }
  return walks;
}

}  // namespace

Outcome estimate_step(const TimedProgram& program) {
  if (!program.queues.empty()) return queued_estimate(program);
  Meetings meetings(program);
  std::vector<Outcome> stages;
  for (const auto& walk : walked<NoLog>(program, meetings)) stages.push_back(walk.outcome());
  return mean(stages);
}

DeviceLog estimated_log(const TimedProgram& program, std::int64_t stage) {
  if (!program.queues.empty()) return queued_log(program, stage);
  Meetings meetings(program);
  std::vector<Walk<WholeLog>> walks = walked<WholeLog>(program, meetings);
  Walk<WholeLog>& walk = walks.at(static_cast<std::size_t>(stage));
  walk.log.log.end = walk.outcome().total.value;
  return std::move(walk.log.log);
}

namespace {

void refuse_misfit(const Point& point) {
  const std::string why = misfit(point.model, point.grid, point.global_batch, point.options);
  if (!why.empty()) throw std::runtime_error(why);
}

std::vector<Folded> stages_of(const Point& point) {
  return folded_stages(point.model, in_effect(point.options, point.grid),
                       point.grid.extent(Axis::pipe));
}

// The groups of the question on another grid. A point is made only where the list of its devices
// matters: a search asks for thousands of grids.
GroupShapes shapes_of(const Point& question, const ProcessGrid& grid, const Platform& platform) {
  if (question.what_ifs.placement.by != Placing::devices) {
    return group_shapes(grid, platform.node.devices, question.options.rank_order);
  }
  Point placed = question;
  placed.grid = grid;
  return group_shapes(placed, platform);
}

// Micro-batches that follow each other through the stages: a ready-queue may let in fewer than
// would keep all stages at work.
std::int64_t in_flight(const StepOptions& options, const ProcessGrid& grid,
                       std::int64_t micro_batches) {
  const std::int64_t passes = micro_batches * options.chunks;
  const std::int64_t limit = options.pipeline_limit;
  const bool limited = row_of(options.order).queue && limit > 0 && limit < grid.extent(Axis::pipe);
  return limited ? std::min(passes, limit) : passes;
}

// A bound adds up in another order than a walk.
constexpr double bound_rounds = 1e-9;

// What a stage computes, or what its busiest channel has to do: no walk of it is shorter.
Seconds busiest(const TimedProgram& program) {
  std::vector<std::int64_t> times(program.steps.size());  // by the first step of a run
  for (const RunCycle& cycle : program.cycles) {
    for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
      const StepRun& run = program.runs[static_cast<std::size_t>(r)];
      if (run.first == run.last) continue;
      times[static_cast<std::size_t>(run.first)] += run.repeats * cycle.repeats;
    }
  }
  Seconds compute;
  std::vector<Seconds> busy(program.channels.size());
  for (const StepRun& run : program.runs) {
    if (run.first == run.last) continue;
    // Each body once.
    const auto count =
        static_cast<double>(std::exchange(times[static_cast<std::size_t>(run.first)], 0));
    if (count == 0.0) continue;
    for (std::int32_t s = run.first; s < run.last; ++s) {
      const TimedStep& step = program.steps[static_cast<std::size_t>(s)];
      if (step.kind == StepKind::compute) compute += step.duration * count;
      if (step.kind != StepKind::post) continue;
      busy[static_cast<std::size_t>(step.channel)] +=
          program.collectives[static_cast<std::size_t>(step.collective)].uncontended * count;
    }
  }
  for (Seconds seconds : busy) compute = std::max(compute, seconds);
  return compute;
}

const MemoryUse& fullest(const std::vector<MemoryUse>& stages) {
  return *std::ranges::max_element(
      stages, [](const MemoryUse& a, const MemoryUse& b) { return a.peak < b.peak; });
}

}  // namespace

TimedProgram lower(const Point& point, const Platform& platform) {
  refuse_misfit(point);
  return lower(point, platform, stages_of(point));
}

TimedProgram lower(const Point& point, const Platform& platform, std::span<const Folded> stages) {
  std::vector<LocalSizes> sizes(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    sizes[i].evaluate(stages[i], point.grid, {micro_batch_tokens(point)});
  }
  TimedProgram program;
  const GroupShapes shapes = group_shapes(point, platform);
  Platform shared = platform;
  shared.library.sharing_a_node = devices_a_node(point, platform);
  lower(stages, sizes,
        {point.grid, shapes, AxisRates(shared), shared, point.what_ifs.collective,
         in_flight(point.options, point.grid, point.options.micro_batches)},
        program);
  return program;
}

Estimate estimate_step(const Point& point, const Platform& platform) {
  refuse_misfit(point);
  return Estimator(platform, point)
      .evaluate(stages_of(point), point.grid, point.options.micro_batches);
}

Estimator::Estimator(const Platform& platform, const Point& question)
    : Estimator(platform, question, AxisRates(platform)) {}

Estimator::Estimator(const Platform& platform, const Point& question, AxisRates rates)
    : platform_(platform), question_(question), rates_(std::move(rates)) {}

Quantities Estimator::quantities(std::int64_t micro_batches) const {
  const std::int64_t tokens = tokens_of_sequence(question_.model, question_.options);
  return {question_.global_batch * tokens / micro_batches};
}

void Estimator::evaluate_sizes(std::span<const Folded> stages, const ProcessGrid& grid,
                               std::int64_t micro_batches) {
  sizes_.resize(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    sizes_[i].evaluate(stages[i], grid, quantities(micro_batches));
  }
}

std::vector<MemoryUse> Estimator::memory(std::span<const Folded> stages, const ProcessGrid& grid,
                                         std::int64_t micro_batches) {
  evaluate_sizes(stages, grid, micro_batches);
  const MemoryOfSoftware software(platform_, question_, grid, micro_batches);
  std::vector<MemoryUse> uses;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    uses.push_back(peak_memory(stages[i], sizes_[i], grid, software.rules()));
  }
  software.add_to(uses);
  return uses;
}

Bytes Estimator::memory_alone(const Folded& stage, const ProcessGrid& grid,
                              std::int64_t micro_batches) {
  evaluate_sizes({&stage, 1}, grid, micro_batches);
  const MemoryOfSoftware software(platform_, question_, grid, micro_batches);
  return peak_memory(stage, sizes_[0], grid, software.rules()).peak * (1.0 - bound_rounds);
}

Seconds Estimator::alone(const Folded& stage, const ProcessGrid& grid, std::int64_t micro_batches,
                         Seconds most) {
  const std::span<const Folded> one(&stage, 1);
  evaluate_sizes(one, grid, micro_batches);
  lowered(one, grid, micro_batches);
  program_.loads.clear();  // what lanes share only delays them
  const Seconds busy = busiest(program_) * (1.0 - bound_rounds);
  // A ready-queue would wait for messages that nobody sends.
  const bool waits = stage.ready.limit > 0;
  if (waits || busy > most) return busy;
  return estimate_step(program_).total * (1.0 - bound_rounds);
}

void Estimator::lowered(std::span<const Folded> stages, const ProcessGrid& grid,
                        std::int64_t micro_batches) {
  const GroupShapes shapes = shapes_of(question_, grid, platform_);
  lower(stages, sizes_,
        {grid, shapes, rates_, platform_, question_.what_ifs.collective,
         in_flight(question_.options, grid, micro_batches)},
        program_);
}

Estimate Estimator::evaluate(const std::vector<Folded>& stages, const ProcessGrid& grid,
                             std::int64_t micro_batches) {
  Estimate result;
  result.stage_memory = memory(stages, grid, micro_batches);
  result.memory = fullest(result.stage_memory);
  lowered(stages, grid, micro_batches);
  add_work(stages, grid, result);
  return result;
}

Estimate Estimator::evaluate(const Pipeline& pipeline, const ProcessGrid& grid,
                             std::int64_t micro_batches, Bytes most, Seconds longest) {
  sizes_.resize(pipeline.kinds().size());
  for (std::size_t k = 0; k < sizes_.size(); ++k) {
    const auto stage = static_cast<std::size_t>(pipeline.kinds()[k].stage);
    sizes_[k].evaluate(pipeline.stages()[stage], grid, quantities(micro_batches));
  }
  Estimate result;
  const MemoryOfSoftware software(platform_, question_, grid, micro_batches);
  result.stage_memory = peak_memory(pipeline, sizes_, grid, software.rules());
  software.add_to(result.stage_memory);
  result.memory = fullest(result.stage_memory);
  if (result.memory.peak > most) return result;
  const bool alone = pipeline.stages().size() == 1;
  // What a ready-queue does is not known before the seconds are.
  const bool queued = pipeline.stages().front().ready.limit > 0;
  if (alone || queued) {
    if (!alone) evaluate_sizes(pipeline.stages(), grid, micro_batches);
    lowered(pipeline.stages(), grid, micro_batches);
    if (!queued) result.outcome.total = busiest(program_);
    if (result.outcome.total > longest * (1.0 + bound_rounds)) return result;
    add_work(pipeline.stages(), grid, result);
    return result;
  }
  result.counts = mean_count(pipeline, sizes_, grid);
  const GroupShapes shapes = shapes_of(question_, grid, platform_);
  const Target target{grid,
                      shapes,
                      rates_,
                      platform_,
                      question_.what_ifs.collective,
                      in_flight(question_.options, grid, micro_batches)};
  lower(pipeline, sizes_, target, bodies_);
  // Legs that are walked once do not know what is shared with what else is under way.
  if (stages_differ(target) || std::ranges::count(sharing_channels(bodies_.program, 0), true) > 0) {
    evaluate_sizes(pipeline.stages(), grid, micro_batches);
    lowered(pipeline.stages(), grid, micro_batches);
    result.outcome = estimate_step(program_);
  } else {
    result.outcome = walk_.walk(pipeline, bodies_);
  }
  return result;
}

void Estimator::add_work(const std::vector<Folded>& stages, const ProcessGrid& grid,
                         Estimate& result) {
  std::vector<Counts> counts;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    counts.push_back(count(stages[i], sizes_[i], grid));
  }
  result.counts = mean(counts);
  result.outcome = estimate_step(program_);
}

}  // namespace fourfold::inline sim::inline estimate
