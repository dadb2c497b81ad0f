// Evaluation of one grid after the other; see estimate.hpp.
#include "sim/estimate.hpp"
#include "sim/lower.hpp"

namespace fourfold {

namespace {

// The groups of the question on another grid. A point is made only where the list of its devices
// matters: a search asks for thousands of grids.
GroupShapes shapes_of(const Point& question, const ProcessGrid& grid, const Platform& platform) {
  if (question.what_ifs.placement.by != Placing::devices) {
    return group_shapes(grid, platform.node.devices);
  }
  Point placed = question;
  placed.grid = grid;
  return group_shapes(placed, platform);
}

}  // namespace

Estimator::Estimator(const Platform& platform, const Point& question)
    : platform_(platform), question_(question), rates_(platform) {}

Bytes Estimator::memory_limit() const {
  return platform_.processor.memory * platform_.processor.usable_memory;
}

MemoryUse Estimator::memory(const Folded& folded, const ProcessGrid& grid,
                            std::int64_t micro_batches) {
  sizes_.evaluate(folded, grid, question_.global_batch * question_.model.sequence / micro_batches);
  return peak_memory(folded, sizes_, grid);
}

Estimate Estimator::evaluate(const Folded& folded, const ProcessGrid& grid,
                             std::int64_t micro_batches) {
  Estimate result;
  result.memory = memory(folded, grid, micro_batches);
  result.counts = count(folded, sizes_, grid);
  result.model_flops =
      model_flops(question_.model, question_.global_batch, question_.options.recompute);
  const GroupShapes shapes = shapes_of(question_, grid, platform_);
  lower(folded, sizes_, {grid, shapes, rates_, platform_, question_.what_ifs.collective}, program_);
  result.outcome = estimate(program_);
  return result;
}

}  // namespace fourfold
