// From what a software says to rules of a step; see memory_of_software.hpp.
#include "sim/estimate/memory_of_software.hpp"

#include <numeric>

#include "platforms/software_memory.hpp"
#include "schedule/models/vocabulary.hpp"

namespace fourfold::inline sim::inline estimate {
namespace {

double elements_of_block(const Model& model) {
  const std::vector<std::int64_t> weights = product_weights(model);
  return static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
}

void add(MemoryUse& use, Role role, Bytes bytes) {
  use.by_role[static_cast<std::size_t>(role)] += bytes;
  use.peak += bytes;
}

}  // namespace

MemoryOfSoftware::MemoryOfSoftware(const Platform& platform, const Point& question,
                                   const ProcessGrid& grid)
    : alone_(grid.extent(Axis::pipe) == 1), tied_(question.model.tied()) {
  const SoftwareMemory memory = software_memory(platform);
  const StepOptions& options = question.options;
  rules_.functions = memory.functions;
  if (!options.trains()) {
    for (FunctionBytes& rule : rules_.functions) rule.keeps = rule.gathers = rule.expands = 0.0;
  }
  rules_.weights = memory.weights;
  rules_.optimizer = memory.optimizer;
  rules_.gradients = memory.gradients;
  rules_.gradients_ahead = memory.gradients_ahead && options.trains();
  const auto extent = [&](Axis axis) { return static_cast<double>(grid.extent(axis)); };
  // ZeRO 2 cuts gradients that are there ahead, too; of ZeRO 3 the weights are cut already.
  if (memory.gradients && options.zero == 2) *rules_.gradients /= extent(Axis::data);
  workspaces_ = memory.workspaces;
  gathered_ = memory.buckets;

  const bool cut = extent(Axis::z) > 1.0 || (options.cuts_weights() && extent(Axis::data) > 1.0);
  rules_.gathers_units = memory.gathered_blocks.has_value() && cut;
  if (!rules_.gathers_units) return;
  const Model& model = question.model;
  const double planes = extent(Axis::x) * extent(Axis::y);
  const double block = elements_of_block(model) / planes;
  const auto words = static_cast<double>(padded_vocabulary(model, options, grid.extent(Axis::x)));
  const double embedding = words * static_cast<double>(model.hidden) / planes;
  const double layers = static_cast<double>(model.layers) / extent(Axis::pipe);
  // What stays gathered is all that a stage has.
  const double gathered =
      options.weight_gather == WeightGather::keep ? layers : *memory.gathered_blocks;
  gathered_ += {block * (gathered * memory.gathered_bytes + layers * memory.casts)};
  gathered_embeddings_ = {embedding *
                          (memory.gathered_embeddings * memory.gathered_bytes + memory.casts)};
}

void MemoryOfSoftware::add_to(std::vector<MemoryUse>& stages) const {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool has_one = i == 0 || i + 1 == stages.size();
    const double tables = alone_ && !tied_ ? 2.0 : has_one ? 1.0 : 0.0;
    add(stages[i], Role::gathered, gathered_ + gathered_embeddings_ * tables);
    add(stages[i], Role::activation, workspaces_);
  }
}

}  // namespace fourfold::inline sim::inline estimate
