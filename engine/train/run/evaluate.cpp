// Weights from the file, forward passes, and what they say; see evaluate.hpp.
#include "engine/train/run/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <stdexcept>

#include "engine/batch.hpp"
#include "engine/cpu/openblas_core.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/data/repeated_files.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/loaded_model.hpp"
#include "engine/train/run/step_report.hpp"
#include "engine/train/sample/sample.hpp"
#include "schedule/models/fit.hpp"
#include "support/standard_streams.hpp"
#include "support/visible_text.hpp"
#include "support/wall_clock.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

std::int64_t sequences_of(const EvaluateSettings& settings, const Model& model) {
  constexpr std::int64_t words = 4096;  // of a forward pass on a device: large enough products
  const std::int64_t parts = replicas(settings.grid);
  if (settings.batch > 0) return settings.batch;
  return parts * std::max<std::int64_t>(1, words / model.sequence);
}

// One after the other, as each has a loss of its own.
std::vector<WordStream> opened(const EvaluateSettings& settings) {
  std::vector<WordStream> streams;
  for (const std::string& path : files_matching(settings.files)) {
    streams.emplace_back(std::vector{path}, ShareOfFile{}, settings.token_bits);
  }
  std::vector<const WordStream*> all;
  for (const WordStream& stream : streams) all.push_back(&stream);
  refuse_idle_bits(all);
  return streams;
}

void refuse_stream(const WordStream& words, const TrainingState& state, std::int64_t most_words) {
  const TokenFile& file = words.files().front();
  const std::string were = word_name(words_of(state)), are = word_name(file.format());
  if (were != are) {
    throw std::runtime_error(fmt::format("{} holds {}s as words, but the model was trained on {}s",
                                         file.path(), are, were));
  }
  if (!Windows(words, state.model, 0).any_counts()) {
    throw std::runtime_error(fmt::format(
        "{} has {}, of which none is a target: the first has nothing before it, and prompts do not "
        "count",
        file.path(), amount(words.words(), are)));
  }
  if (!Windows(words, state.model, most_words).any_counts()) {
    throw std::runtime_error(
        fmt::format("the first {} of {} to be guessed are of a prompt, which does not count; give "
                    "more --words, or 0 for all",
                    amount(most_words, are), file.path()));
  }
  words.expect_within(state.model.vocabulary, words_looked_at);
}

std::string line_of(const std::string& what, const HeldOutLoss& loss, const std::string& word) {
  return fmt::format("{}: loss {:.4f} nats = {:.3f} bits a {}, perplexity {:.4g}, over {}\n", what,
                     loss.mean, loss.mean / std::numbers::ln2, word, std::exp(loss.mean),
                     amount(loss.words, word));
}

nlohmann::ordered_json json_of(const HeldOutLoss& loss) {
  return {{"loss", loss.mean},
          {"bits", loss.mean / std::numbers::ln2},
          {"perplexity", std::exp(loss.mean)},
          {"words", loss.words}};
}

}  // namespace

HeldOutLoss Evaluation::all() const {
  HeldOutLoss all;
  for (const EvaluatedFile& file : files) {
    all.mean += file.loss.mean * static_cast<double>(file.loss.words);
    all.words += file.loss.words;
  }
  all.mean /= static_cast<double>(std::max<std::int64_t>(1, all.words));
  return all;
}

void refuse(const EvaluateSettings& settings, const TrainingState& state) {
  check(state.model, settings.grid);
  check_divides(sequences_of(settings, state.model), settings.grid, 1);
  for (const WordStream& words : opened(settings)) {
    refuse_stream(words, state, settings.most_words);
  }
}

Evaluation evaluate(const EvaluateSettings& settings, World& world) {
  Evaluation result;
  result.state = read_training_state(settings.checkpoint);
  const Model& model = result.state.model;
  together([&] {
    refuse(settings, result.state);
    result.format = words_of(result.state);
  });
  LoadedModel loaded(settings.checkpoint, model, settings.precision, settings.grid, world);
  Validation validation(loaded.worker(), model, loaded.options(), sequences_of(settings, model),
                        loaded.weights());
  const double begin = wall_seconds();
  const std::vector<WordStream> streams = opened(settings);
  on_first_rank([&] { result.data_remarks = evaluated_twice(streams, settings.token_bits); });
  for (const WordStream& words : streams) {
    const HeldOutLoss loss = validation.loss(Windows(words, model, settings.most_words));
    result.files.push_back({words.files().front().path(), loss});
  }
  result.seconds = wall_seconds() - begin;
  if (world.rank() != 0 || settings.screen == Screen::silent) return result;
  print(settings.screen == Screen::json ? json_line(settings, result) + "\n" : text_of(result));
  return result;
}

std::string text_of(const Evaluation& evaluation) {
  const std::string word = word_name(evaluation.format);
  std::string text;
  for (const EvaluatedFile& file : evaluation.files)
    text += line_of(visible_line(file.path), file.loss, word);
  if (evaluation.files.size() > 1) {
    text += line_of(fmt::format("all {} files", evaluation.files.size()), evaluation.all(), word);
  }
  for (const std::string& remark : evaluation.data_remarks) text += visible_line(remark) + '\n';
  return text;
}

std::string json_line(const EvaluateSettings& settings, const Evaluation& evaluation) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const EvaluatedFile& file : evaluation.files) {
    nlohmann::ordered_json entry{{"path", file.path}};
    entry.update(json_of(file.loss));
    files.push_back(entry);
  }
  nlohmann::ordered_json line{{"kind", "evaluation"},
                              {"checkpoint", settings.checkpoint},
                              {"model", evaluation.state.model.name},
                              {"step", evaluation.state.step},
                              {"grid", settings.grid.str()},
                              {"precision", name(settings.precision)},
                              {"words_are", name(evaluation.format)}};
  line.update(json_of(evaluation.all()));
  line["files"] = files;
  if (!evaluation.data_remarks.empty()) line["data_remarks"] = evaluation.data_remarks;
  line["seconds"] = evaluation.seconds;
  line["libraries"] = blas_report();
  return line.dump();
}

}  // namespace fourfold::inline engine::inline train::inline run
