// From words to settings, refusing what does not fit; see flags.hpp.
#include <algorithm>
#include <stdexcept>
#include <thread>

#include "engine/batch.hpp"
#include "engine/train/flags/flags.hpp"
#include "engine/train/flags/words.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/model_file.hpp"

namespace fourfold {

namespace {

constexpr double default_minutes = 1.5;

StepOptions options_of(const TrainFlags& flags) {
  StepOptions options = flags.settings.options;
  options.recompute =
      choice_named<Recompute>("--recompute", flags.recompute, {Recompute::none, Recompute::full});
  options.overlap = overlap_named(flags.overlap);
  options.weight_gather = choice_named<WeightGather>(
      "--weight-gather", flags.weight_gather, {WeightGather::per_micro_batch, WeightGather::keep});
  options.gradient_reduction = choice_named<GradientReduction>(
      "--gradient-reduction", flags.gradient_reduction,
      {GradientReduction::per_micro_batch, GradientReduction::accumulated});
  options.data_reduction =
      choice_named<DataReduction>("--data-reduction", flags.data_reduction,
                                  {DataReduction::after_backward, DataReduction::beside_backward});
  options.precision =
      choice_named<Precision>("--precision", flags.precision, {Precision::fp32, Precision::bf16});
  options.grad_reduce_precision_z = options.precision;
  options.grad_reduce_precision_data = Precision::fp32;
  return options;
}

// A batch that has sequences left over would leave ranks or micro-batches without work.
void check_batch(const TrainSettings& settings) {
  const std::int64_t parts = batch_unit(settings.grid, settings.options.micro_batches);
  if (settings.batch % parts != 0) {
    throw std::runtime_error(
        "a batch of " + std::to_string(settings.batch) + " sequences does not divide on grid " +
        settings.grid.str() +
        "; --batch must be a multiple of micro-batches x z x data = " + std::to_string(parts));
  }
}

}  // namespace

ProcessGrid grid_of(const std::string& grid, std::int64_t ranks, std::int64_t otherwise) {
  if (grid.empty()) return ProcessGrid(1, 1, 1, ranks > 0 ? ranks : otherwise);
  const ProcessGrid parsed = ProcessGrid::parse(grid);
  if (ranks > 0 && parsed.size() != ranks) {
    throw std::runtime_error("grid " + parsed.str() + " has " + std::to_string(parsed.size()) +
                             " ranks, not " + std::to_string(ranks) +
                             "; --ranks may be left out where --grid is given");
  }
  return parsed;
}

TrainSettings settings_of(const TrainFlags& flags) {
  TrainSettings settings = flags.settings;
  settings.model = read_model(flags.model);
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  settings.grid = grid_of(flags.grid, flags.ranks, std::min<std::int64_t>(cores, 2));
  settings.options = options_of(flags);
  settings.transport = parse_transport(flags.transport);
  settings.progress = parse_progress_mode(flags.progress);
  settings.data.order = parse_data_order(flags.order);
  settings.data.seed = settings.seed;
  if (settings.length.steps == 0 && settings.length.minutes == 0.0) {
    settings.length.minutes = default_minutes;
  }
  check(settings.model, settings.grid);
  check_batch(settings);
  return settings;
}

}  // namespace fourfold
