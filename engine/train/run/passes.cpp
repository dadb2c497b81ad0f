// Passes as schedules that nobody has executed yet; see passes.hpp.
#include "engine/train/run/passes.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/plan/arena.hpp"
#include "engine/plan/ring_order.hpp"
#include "engine/train/run/memory.hpp"
#include "engine/train/sample/prompt.hpp"
#include "engine/train/sample/sampler.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

Schedule step_schedule(const Model& model, const StepOptions& options, const Stage& stage) {
  return issue(record_step(model, options, stage), options);
}

Schedule evaluation_schedule(const Model& model, const StepOptions& options, const Stage& stage) {
  return issue(record_evaluation(model, options, stage), options);
}

// A forward pass alone has no order of micro-batches that could fail to fit.
StepOptions without_order(StepOptions options) {
  options.order = PipelineOrder::one_f_one_b;
  options.chunks = 1;
  options.pipeline_limit = 0;
  return options;
}

std::int64_t tokens_of_micro_batch(const PlannedPass& pass) {
  return pass.sequences / pass.options.micro_batches * tokens_of_sequence(pass.model, pass.options);
}

// As the transports check it when a collective starts (engine/mpi/transport.cpp).
void expect_pieces(const PlannedPass& pass, const Program& program, const ProcessGrid& grid) {
  const Quantities sizes{tokens_of_micro_batch(pass)};
  for (const Op& op : program.ops) {
    if (!is_collective(op.kind)) continue;
    const KindRow& kind = row_of(op.collective_kind());
    const bool gathers = kind.brings == Portion::part;
    if (!gathers && kind.gets != Portion::part) continue;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      const std::int64_t from = program.local_elements(op.inputs[k], grid, sizes);
      const std::int64_t to = program.local_elements(op.outputs[k], grid, sizes);
      const std::int64_t whole = gathers ? to : from, piece = gathers ? from : to;
      if (piece == ring_piece(whole, grid.extent(op.axis))) continue;
      throw std::runtime_error(fmt::format(
          "{} cannot be done on grid {}: {} elements of {} are no {} pieces of {} along {}",
          pass.what, grid.str(), whole, program[op.inputs[k]].label.full(), grid.extent(op.axis),
          piece, name(op.axis)));
    }
  }
}

// Keys and values that a rank of the stage keeps between passes.
Bytes caches_of(const PlannedPass& pass, const ProcessGrid& grid, const Stage& stage) {
  const Program program = pass.schedule(pass.model, pass.options, stage).program;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    const Value& value = program.values[i];
    if (value.role != Role::cache) continue;
    sum += program.local_elements(static_cast<Id>(i), grid, {tokens_of_micro_batch(pass)}) *
           bytes_per_element(value.precision);
  }
  return {static_cast<double>(sum)};
}

}  // namespace

Bytes planned(const PlannedPass& pass, const ProcessGrid& grid, const Stage& stage) {
  const Schedule schedule = pass.schedule(pass.model, pass.options, stage);
  expect_pieces(pass, schedule.program, grid);
  const std::int64_t tokens = tokens_of_micro_batch(pass);
  const BufferPlan buffers = plan_buffers(schedule, grid, tokens);
  return {static_cast<double>(plan_arena(buffers.buffers, StreamOrder(schedule)).bytes)};
}

std::vector<PlannedPass> passes_of(const TrainSettings& settings) {
  const Model& model = settings.model;
  const StepOptions options = options_in_effect(settings);
  StepOptions forward = options;
  forward.micro_batches = 1;
  std::vector<PlannedPass> passes{
      {"the step", model, options, settings.batch, step_schedule},
      {"validation", model, forward, settings.batch / options.micro_batches, evaluation_schedule}};
  if (settings.sampling.tokens == 0) return passes;
  const std::int64_t texts = sequences_of_texts(settings.sampling.texts, settings.grid);
  passes.push_back({"drawing texts", model, options_of_texts(forward, Phase::prefill), texts,
                    schedule_of_texts});
  passes.push_back({"drawing texts word by word", model, options_of_texts(forward, Phase::decode),
                    texts, schedule_of_texts});
  return passes;
}

void refuse_passes(const TrainSettings& settings, TokenFormat words) {
  const std::vector<PlannedPass> passes = passes_of(settings);
  for (std::size_t i = 1; i < passes.size(); ++i) {  // the step's are checked with its flags
    const std::string why = misfit(passes[i].model, settings.grid, passes[i].sequences,
                                   without_order(passes[i].options));
    if (!why.empty()) throw std::runtime_error(passes[i].what + " cannot be done: " + why);
  }
  const SamplingSettings& sampling = settings.sampling;
  if (sampling.tokens == 0) return;
  const std::int64_t most = most_batch_tokens / settings.model.sequence;
  if (sequences_of_texts(sampling.texts, settings.grid) > most) {
    throw std::runtime_error(fmt::format("--texts {} are more than the {} whose words are counted",
                                         sampling.texts, most));
  }
  words_of_prompt(sampling.prompt, words, settings.model.vocabulary);
}

Bytes memory_of_later_passes(const TrainSettings& settings, const Stage& stage) {
  const std::vector<PlannedPass> passes = passes_of(settings);
  Bytes sum;
  for (std::size_t i = 1; i < passes.size(); ++i) sum += planned(passes[i], settings.grid, stage);
  if (settings.sampling.tokens == 0) return sum;
  const PlannedPass& decoding = passes.back();
  return sum + caches_of(decoding, settings.grid, stage) +
         host_memory_of_texts(settings.model, settings.grid, decoding.sequences);
}

void refuse_later_without_room(Bytes step, Bytes later, std::int64_t ranks,
                               std::int64_t available) {
  const Bytes needed = (step + later) * static_cast<double>(ranks);
  if (needed.value <= static_cast<double>(available)) return;
  throw std::runtime_error(fmt::format(
      "this run needs {} a rank for its steps and {} more for validation and the texts it draws, "
      "{} for the {} on this node, and {} are available; draw fewer --texts or none (--tokens 0), "
      "cut the batch into more --micro-batches, or use more nodes or a smaller --model",
      gigabytes_text(step.value), gigabytes_text(later.value), gigabytes_text(needed.value),
      ranks == 1 ? "one rank" : fmt::format("{} ranks", ranks),
      gigabytes_text(static_cast<double>(available))));
}

}  // namespace fourfold::inline engine::inline train::inline run
