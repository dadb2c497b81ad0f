// A forward pass a word, over all words or over the last; see sampler.hpp.
#include "engine/train/sample/sampler.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/batch.hpp"
#include "engine/plan/block_place.hpp"
#include "engine/train/sample/ending.hpp"
#include "engine/train/sample/pick.hpp"
#include "engine/train/sample/prompt.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::inline engine::inline train::inline sample {

std::int64_t sequences_of_texts(std::int64_t texts, const ProcessGrid& grid) {
  const std::int64_t parts = replicas(grid);
  return (texts + parts - 1) / parts * parts;
}

StepOptions options_of_texts(StepOptions options, Phase phase) {
  options.attention = AttentionKernel::fused;  // the same numbers, and nothing held of all pairs
  options.sequence_parallel = false;
  options.phase = phase;
  options.micro_batches = 1;
  return options;
}

Schedule schedule_of_texts(const Model& model, const StepOptions& options, const Stage& stage) {
  return issue(record_forward(model, options, options.phase, stage), options);
}

Bytes host_memory_of_texts(const Model& model, const ProcessGrid& grid, std::int64_t sequences) {
  const auto copies = static_cast<double>(grid.extent(Axis::y) * grid.extent(Axis::pipe)) + 2.0;
  return {sizeof(float) * copies * static_cast<double>(sequences) *
          static_cast<double>(model.vocabulary)};
}

Sampler::Sampler(const Worker& worker, const Model& model, const StepOptions& options,
                 std::int64_t texts, Weights& weights)
    : world_(worker.world),
      device_(weights.device()),
      model_(model),
      grid_(weights.grid()),
      rank_(weights.rank()),
      texts_(texts),
      sequences_(sequences_of_texts(texts, grid_)),
      caches_(worker.backend.memory()),
      reader_(executor_of(worker, model,
                          schedule_of_texts(model, options_of_texts(options, Phase::prefill),
                                            stage_of(grid_, rank_)),
                          sequences_, weights, &caches_)),
      decoder_(executor_of(worker, model,
                           schedule_of_texts(model, options_of_texts(options, Phase::decode),
                                             stage_of(grid_, rank_)),
                           sequences_, weights, &caches_)) {}

LocalBatch Sampler::batch_of(const Texts& texts, std::int64_t row) const {
  const Share own = share(grid_, rank_, 0, sequences_ * row);
  LocalBatch batch;
  batch.sequences = sequences_;
  batch.tokens.resize(static_cast<std::size_t>(own.count));
  batch.targets.resize(static_cast<std::size_t>(own.count));
  const std::int64_t first = own.first / row;
  for (std::int64_t s = 0; s < own.count / row; ++s) {
    if (first + s >= texts_) break;
    const std::vector<std::int32_t>& text = texts[static_cast<std::size_t>(first + s)];
    const auto seen = std::min<std::int64_t>(static_cast<std::int64_t>(text.size()), row);
    std::copy(text.end() - seen, text.end(), batch.tokens.begin() + s * row);
  }
  return batch;
}

std::vector<float> Sampler::pass(const Texts& texts) {
  const auto length = static_cast<std::int64_t>(texts.front().size());
  const bool decodes = cached_ && length > 1 && length <= model_.sequence && kept_ == length - 1;
  Executor& executor = decodes ? decoder_ : reader_;
  LocalBatch batch = batch_of(texts, decodes ? 1 : model_.sequence);
  batch.length = std::min(length, model_.sequence);
  executor.step(batch, AdamW{}, 1);
  kept_ = length;
  const Tensor logits = executor.logits();
  return logits.data == nullptr ? std::vector<float>() : numbers_of(device_, logits);
}

std::vector<float> Sampler::next_logits(const Texts& texts) {
  std::vector<float> own = pass(texts);
  // Equally many of each rank, though those of the last stage alone have any.
  own.resize(static_cast<std::size_t>(share(grid_, rank_, 0, sequences_).count *
                                      part_of(model_.vocabulary, grid_, rank_, {Axis::x}).extent));
  const std::vector<float> every = world_.all(own);
  std::vector<float> result(static_cast<std::size_t>(sequences_ * model_.vocabulary));
  for (std::int64_t rank = 0; rank < grid_.size(); ++rank) {
    if (!stage_of(grid_, rank).last()) continue;
    const Share sequences = share(grid_, rank, 0, sequences_ * model_.sequence);
    const Part words = part_of(model_.vocabulary, grid_, rank, {Axis::x});
    const float* block = every.data() + rank * static_cast<std::int64_t>(own.size());
    for (std::int64_t s = 0; s < sequences.count / model_.sequence; ++s) {
      const std::int64_t text = sequences.first / model_.sequence + s;
      std::copy_n(block + s * words.extent, words.valid,
                  result.begin() + text * model_.vocabulary + words.first);
    }
  }
  return result;
}

Texts Sampler::draw(const std::vector<std::int32_t>& prompt, const SamplingSettings& settings,
                    const HearWord& hear) {
  return draw(Texts(static_cast<std::size_t>(texts_), prompt), settings, hear);
}

Texts Sampler::draw(const Texts& prompts, const SamplingSettings& settings, const HearWord& hear) {
  const Drawing drawing{settings.temperature, settings.top_k, settings.top_p};
  Texts texts = prompts;
  Texts running = prompts;  // all equally long, whether or not they have ended
  cached_ = settings.decoding == Decoding::cached;
  kept_ = 0;
  std::vector<std::mt19937_64> random;
  for (std::int64_t i = 0; i < texts_; ++i) {
    std::seed_seq seed{settings.seed, settings.seed >> 32, static_cast<std::uint64_t>(i)};
    random.emplace_back(seed);
  }
  for (std::int64_t n = 0; n < settings.tokens; ++n) {
    const std::vector<float> logits = next_logits(running);
    std::size_t ended = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::span<const float> own(
          logits.data() + static_cast<std::int64_t>(i) * model_.vocabulary,
          static_cast<std::size_t>(model_.vocabulary));
      running[i].push_back(pick(own, drawing, next_number(random[i])));
      const auto is_over = [&] { return has_ended(texts[i], prompts[i].size(), settings.endings); };
      if (!is_over()) texts[i].push_back(running[i].back());
      if (is_over()) ++ended;
    }
    if (hear) hear(texts);
    if (ended == texts.size()) break;
  }
  return texts;
}

std::vector<float> Sampler::logits_after(const std::vector<std::int32_t>& prompt) {
  cached_ = false;
  std::vector<float> logits = next_logits(Texts(static_cast<std::size_t>(texts_), prompt));
  logits.resize(static_cast<std::size_t>(model_.vocabulary));
  return logits;
}

void say_texts(const Texts& texts, TokenFormat format, const RunLog& log) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = readable(texts[i], format);
    log.say("---- text " + std::to_string(i + 1) + " of " + std::to_string(texts.size()));
    log.say_lines(text);
    log.record(nlohmann::ordered_json{{"kind", "text"}, {"text", text}}.dump());
  }
  log.say("----");
}

}  // namespace fourfold::inline engine::inline train::inline sample
