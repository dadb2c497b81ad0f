// From what a software says to rules of a step; see memory_of_software.hpp.
#include "sim/estimate/memory_of_software.hpp"

#include <algorithm>
#include <numeric>

#include "platforms/software_memory.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/gpt.hpp"
#include "schedule/models/layer.hpp"
#include "schedule/models/parameter_count.hpp"
#include "schedule/models/vocabulary.hpp"
#include "schedule/order/step.hpp"
#include "schedule/program/options_in_effect.hpp"

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

// Passes whose forward a stage has done, and whose backward not yet.
std::int64_t most_in_flight(const StepOptions& options, const Stage& stage) {
  std::int64_t now = 0, most = 0;
  for (const Turn& turn : order_of(options, stage).turns) {
    if (turn.part == StepPart::forward) most = std::max(most, ++now);
    if (turn.part == StepPart::backward || turn.part == StepPart::weight_gradient) --now;
  }
  return most;
}

// PyTorch's pipelines: each pass has a buffer of its own for what comes in, whether or not a step
// is through with it, and the last stage keeps what it gives until the step has ended.
std::vector<Bytes> of_other_micro_batches(const SoftwareMemory& memory, const Point& question,
                                          const ProcessGrid& grid, std::int64_t micro_batches) {
  const std::int64_t stages = grid.extent(Axis::pipe);
  std::vector<Bytes> result(static_cast<std::size_t>(stages));
  StepOptions options = question.options;
  if (stages == 1 || !options.trains()) return result;
  options.micro_batches = micro_batches;
  const std::int64_t tokens = tokens_of_sequence(question.model, options);
  const Quantities quantities{question.global_batch * tokens / micro_batches};
  const double width = bytes_per_element(options.precision);
  const Shape stream = stream_shape(question.model.hidden, options);
  const Bytes message{width * static_cast<double>(stream.local_elements(grid, quantities))};
  Shape logits = stream;
  logits.cols = padded_vocabulary(question.model, options, grid.extent(Axis::x));
  logits.sharding = {token_cuts, {Axis::x}, {}, {}, Owed::sum};
  const Bytes of_last{width * static_cast<double>(logits.local_elements(grid, quantities))};
  const std::int64_t passes = micro_batches * options.chunks;
  for (std::int64_t i = 0; i < stages; ++i) {
    const bool last = i + 1 == stages;
    Bytes& own = result[static_cast<std::size_t>(i)];
    if (memory.messages_of_step) {
      const std::int64_t forwards = passes - (i == 0 ? micro_batches : 0);
      const std::int64_t backwards = passes - (last ? micro_batches : 0);
      const std::int64_t in_use = std::min(forwards, most_in_flight(options, {i, stages}));
      own += message *
             static_cast<double>(forwards - in_use + std::max<std::int64_t>(0, backwards - 1));
    }
    if (memory.logits_of_step && last) own += of_last * static_cast<double>(micro_batches - 1);
  }
  return result;
}

}  // namespace

MemoryOfSoftware::MemoryOfSoftware(const Platform& platform, const Point& question,
                                   const ProcessGrid& grid, std::int64_t micro_batches)
    : alone_(grid.extent(Axis::pipe) == 1), tied_(question.model.tied()) {
  const SoftwareMemory memory = software_memory(platform);
  const StepOptions& options = question.options;
  rules_.functions = memory.functions;
  if (!options.trains()) {
    for (FunctionBytes& rule : rules_.functions) rule.keeps = rule.gathers = rule.expands = 0.0;
  }
  // FSDP gathers its 16-bit weights from the optimizer's fp32 ones, which a forward pass alone does
  // not have; ZeRO keeps both.
  const bool keeps_both = in_effect(options, grid).zero > 0 || !options.trains();
  if (!memory.gathered_blocks || !keeps_both) rules_.weights = memory.weights;
  rules_.optimizer = memory.optimizer;
  rules_.gradients = memory.gradients;
  rules_.gradients_ahead = memory.gradients_ahead && options.trains();
  const auto extent = [&](Axis axis) { return static_cast<double>(grid.extent(axis)); };
  // ZeRO 2 cuts gradients that are there ahead, too; of ZeRO 3 the weights are cut already.
  if (memory.gradients && options.zero == 2) *rules_.gradients /= extent(Axis::data);
  workspaces_ = memory.workspaces;
  gathered_ = memory.buckets;
  if (memory.messages_of_step || memory.logits_of_step) {
    of_other_micro_batches_ = of_other_micro_batches(memory, question, grid, micro_batches);
  }

  const bool cut = extent(Axis::z) > 1.0 || (options.cuts_weights() && extent(Axis::data) > 1.0);
  rules_.gathers_units = memory.gathered_blocks.has_value() && cut;
  if (!rules_.gathers_units) return;
  const Model& model = question.model;
  const double planes = extent(Axis::x) * extent(Axis::y);
  const double block = elements_of_block(model) / planes;
  const auto words = static_cast<double>(padded_vocabulary(model, options, grid.extent(Axis::x)));
  const double embedding = words * static_cast<double>(model.hidden) / planes;
  // What stays gathered is all that a stage has.
  const bool keeps = options.weight_gather == WeightGather::keep;
  if (!keeps) gathered_ += {block * *memory.gathered_blocks * memory.gathered_bytes};
  gathered_of_layer_ = {block * ((keeps ? memory.gathered_bytes : 0.0) + memory.casts)};
  for (std::int64_t i = 0; i < grid.extent(Axis::pipe); ++i) {
    layers_.push_back(layers_of_stage(model, options, {i, grid.extent(Axis::pipe)}));
  }
  gathered_embeddings_ = {embedding *
                          (memory.gathered_embeddings * memory.gathered_bytes + memory.casts)};
}

void MemoryOfSoftware::add_to(std::vector<MemoryUse>& stages) const {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool has_one = i == 0 || i + 1 == stages.size();
    const double tables = alone_ && !tied_ ? 2.0 : has_one ? 1.0 : 0.0;
    const double layers = layers_.empty() ? 0.0 : static_cast<double>(layers_[i]);
    add(stages[i], Role::gathered,
        gathered_ + gathered_of_layer_ * layers + gathered_embeddings_ * tables);
    add(stages[i], Role::activation, workspaces_);
    if (!of_other_micro_batches_.empty()) {
      add(stages[i], Role::activation, of_other_micro_batches_[i]);
    }
  }
}

}  // namespace fourfold::inline sim::inline estimate
