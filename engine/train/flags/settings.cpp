// From words to settings, refusing what does not fit; see settings.hpp.
#include <algorithm>
#include <stdexcept>
#include <thread>

#include "engine/batch.hpp"
#include "engine/train/flags/flags.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "support/field.hpp"

namespace fourfold::inline engine::inline train::inline flags {

namespace {

constexpr double default_minutes = 1.5;

// A batch that has sequences left over would leave ranks or micro-batches without work.
void check_batch(const TrainSettings& settings) {
  const std::int64_t most = most_batch_tokens / settings.model.sequence;
  if (settings.batch > most) {
    throw std::runtime_error("a batch of " + std::to_string(settings.batch) +
                             " sequences is more than the " + std::to_string(most) +
                             " whose tokens are counted");
  }
  // A step is walked as a list of all its operations.
  constexpr std::int64_t most_layers_of_a_step = std::int64_t{1} << 20;
  const std::int64_t most_parts = most_layers_of_a_step / settings.model.layers;
  if (settings.options.micro_batches > most_parts) {
    throw std::runtime_error("--micro-batches is " +
                             std::to_string(settings.options.micro_batches) +
                             ", but must be at most " + std::to_string(most_parts) + " with " +
                             std::to_string(settings.model.layers) +
                             " layers, as every operation of a step is written down");
  }
  const std::int64_t parts = batch_unit(settings.grid, settings.options.micro_batches);
  if (settings.batch % parts != 0) {
    throw std::runtime_error(
        "a batch of " + std::to_string(settings.batch) + " sequences does not divide on grid " +
        settings.grid.str() +
        "; --batch must be a multiple of micro-batches x z x data = " + std::to_string(parts));
  }
}

}  // namespace

const char* name(Decoding decoding) {
  return decoding == Decoding::cached ? "on" : "off";
}

Decoding parse_decoding(const std::string& text) {
  if (text == "on") return Decoding::cached;
  if (text == "off") return Decoding::whole;
  throw std::invalid_argument("--kv-cache must be on or off, not '" + text + "'");
}

StepOptions options_in_effect(const TrainSettings& settings) {
  StepOptions options = in_effect(settings.options, settings.grid);
  // The forward of one micro-batch and its backward stand in one order.
  const bool is_one = options.micro_batches == 1 && options.order == PipelineOrder::gpipe;
  if (is_one) options.order = PipelineOrder::one_f_one_b;
  // Collectives of one rank take no time that could be hidden.
  if (settings.grid.size() == 1) options.overlap = {};
  return options;
}

void check_pipeline(const TrainSettings& settings) {
  const Misfit why = find_misfit(settings.model, settings.grid, settings.batch, settings.options);
  const bool elsewhere = why != Misfit::layers && why != Misfit::order && why != Misfit::tokens &&
                         why != Misfit::second_factoring;
  if (elsewhere) return;
  throw std::runtime_error(misfit(settings.model, settings.grid, settings.batch, settings.options));
}

// fp32 is what processors compute fastest in, and memory is there.
FieldValues usual_options() {
  FieldValues usual = step_fields().values({});
  usual["precision"] = name(Precision::fp32);
  usual["recompute"] = name(Recompute::none);
  return usual;
}

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

void expect_ranks(const ProcessGrid& grid, std::int64_t started) {
  if (grid.size() == started) return;
  throw std::runtime_error("grid " + grid.str() + " needs " + std::to_string(grid.size()) +
                           (grid.size() == 1 ? " rank" : " ranks") + ", but mpirun has started " +
                           std::to_string(started));
}

namespace {

// What is trained is what the file says.
Model trained_model(const std::string& name_or_path) {
  const std::string sentence = not_said_by(name_or_path);
  if (sentence.empty()) return read_model(name_or_path);
  throw std::runtime_error("--model cannot be trained as it is: " + sentence);
}

}  // namespace

TrainSettings settings_of(const TrainFlags& flags) {
  TrainSettings settings = flags.settings;
  settings.model = flags.known_model ? *flags.known_model : trained_model(flags.model);
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  settings.grid = grid_of(flags.grid, flags.ranks, std::min<std::int64_t>(cores, 2));
  step_fields().set(settings.options, usual_options());
  step_fields().set(settings.options, flags.options);
  settings.options = with_buckets(settings.options, settings.grid);
  for (const auto& [flag, why] : projected_only) {
    const std::string word = step_fields().word(settings.options, flag);
    if (word == step_fields().word({}, flag)) continue;
    throw std::runtime_error(std::string(flag) + ' ' + word + " is projected only: " + why);
  }
  settings.transport = parse_transport(flags.transport);
  settings.progress = parse_progress_mode(flags.progress);
  settings.data.order = parse_data_order(flags.data_order);
  settings.data.seed = settings.seed;
  settings.learning_rate.decay = parse_rate_decay(flags.rate_decay);
  settings.bad_steps = parse_bad_steps(flags.bad_steps);
  if (flags.bad_norm > 0.0) settings.optimizer.largest_norm = flags.bad_norm;
  if (settings.length.steps == 0 && settings.length.minutes == 0.0) {
    settings.length.minutes = default_minutes;
  }
  check_pipeline(settings);
  check(settings.model, settings.grid);
  check_batch(settings);
  return settings;
}

}  // namespace fourfold::inline engine::inline train::inline flags
