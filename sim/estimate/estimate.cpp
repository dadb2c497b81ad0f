// Stages walked side by side, and points as timed programs; see estimate.hpp.
#include "sim/estimate/estimate.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "schedule/fold/memory.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/order/side_by_side.hpp"
#include "sim/cost/lower.hpp"
#include "sim/estimate/ready_queue.hpp"
#include "sim/estimate/walk.hpp"

namespace fourfold {

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

Outcome estimate(const TimedProgram& program) {
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
  return folded_stages(point.model, point.options, point.grid.extent(Axis::pipe));
}

const MemoryUse& fullest(const std::vector<MemoryUse>& stages) {
  return *std::ranges::max_element(
      stages, [](const MemoryUse& a, const MemoryUse& b) { return a.peak < b.peak; });
}

}  // namespace

TimedProgram lower(const Point& point, const Platform& platform) {
  refuse_misfit(point);
  const std::vector<Folded> stages = stages_of(point);
  std::vector<LocalSizes> sizes(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    sizes[i].evaluate(stages[i], point.grid, {micro_batch_tokens(point)});
  }
  TimedProgram program;
  const GroupShapes shapes = group_shapes(point, platform);
  lower(stages, sizes,
        {point.grid, shapes, AxisRates(platform), platform, point.what_ifs.collective}, program);
  return program;
}

Estimate estimate(const Point& point, const Platform& platform) {
  refuse_misfit(point);
  return Estimator(platform, point)
      .evaluate(stages_of(point), point.grid, point.options.micro_batches);
}

Estimator::Estimator(const Platform& platform, const Point& question)
    : platform_(platform), question_(question), rates_(platform) {}

Bytes Estimator::memory_limit() const {
  return platform_.processor.memory * platform_.processor.usable_memory;
}

std::vector<MemoryUse> Estimator::memory(const std::vector<Folded>& stages, const ProcessGrid& grid,
                                         std::int64_t micro_batches) {
  const Quantities quantities{question_.global_batch * question_.model.sequence / micro_batches};
  std::vector<MemoryUse> uses;
  sizes_.resize(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    sizes_[i].evaluate(stages[i], grid, quantities);
    uses.push_back(peak_memory(stages[i], sizes_[i], grid));
  }
  return uses;
}

Estimate Estimator::evaluate(const std::vector<Folded>& stages, const ProcessGrid& grid,
                             std::int64_t micro_batches) {
  Estimate result;
  result.stage_memory = memory(stages, grid, micro_batches);
  result.memory = fullest(result.stage_memory);
  std::vector<Counts> counts;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    counts.push_back(count(stages[i], sizes_[i], grid));
  }
  result.counts = mean(counts);
  result.model_flops =
      model_flops(question_.model, question_.global_batch, question_.options.recompute);
  const GroupShapes shapes = shapes_of(question_, grid, platform_);
  lower(stages, sizes_, {grid, shapes, rates_, platform_, question_.what_ifs.collective}, program_);
  result.outcome = estimate(program_);
  return result;
}

std::vector<MemoryUse> Estimator::memory(const Pipeline& pipeline, const ProcessGrid& grid,
                                         std::int64_t micro_batches) {
  const Quantities quantities{question_.global_batch * question_.model.sequence / micro_batches};
  sizes_.resize(pipeline.kinds().size());
  for (std::size_t k = 0; k < sizes_.size(); ++k) {
    const auto stage = static_cast<std::size_t>(pipeline.kinds()[k].stage);
    sizes_[k].evaluate(pipeline.stages()[stage], grid, quantities);
  }
  return peak_memory(pipeline, sizes_, grid);
}

Estimate Estimator::evaluate(const Pipeline& pipeline, const ProcessGrid& grid,
                             std::int64_t micro_batches) {
  // What a ready-queue does is not known before the seconds are.
  if (pipeline.stages().size() == 1 || pipeline.stages().front().ready.limit > 0) {
    return evaluate(pipeline.stages(), grid, micro_batches);
  }
  Estimate result;
  result.stage_memory = memory(pipeline, grid, micro_batches);
  result.memory = fullest(result.stage_memory);
  result.counts = mean_count(pipeline, sizes_, grid);
  result.model_flops =
      model_flops(question_.model, question_.global_batch, question_.options.recompute);
  const GroupShapes shapes = shapes_of(question_, grid, platform_);
  lower(pipeline, sizes_, {grid, shapes, rates_, platform_, question_.what_ifs.collective},
        bodies_);
  result.outcome = walk_.walk(pipeline, bodies_);
  return result;
}

}  // namespace fourfold
