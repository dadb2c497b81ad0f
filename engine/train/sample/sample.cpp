// Weights from the file, forward passes, words on the screen; see sample.hpp.
#include "engine/train/sample/sample.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/batch.hpp"
#include "engine/cpu/openblas_core.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/loaded_model.hpp"
#include "engine/train/sample/prompt.hpp"
#include "support/field.hpp"
#include "support/standard_streams.hpp"
#include "support/wall_clock.hpp"

namespace fourfold::inline engine::inline train::inline sample {

namespace {

// One text as it grows: prints what each word adds.
class Typewriter {
 public:
  Typewriter(TokenFormat format, std::size_t prompt, const Endings& endings)
      : format_(format), prompt_(prompt), endings_(endings) {}

  void type(std::vector<std::int32_t> words) {
    words.resize(sure_words(words, prompt_, endings_));
    add(readable_so_far(words, format_));
  }
  void end(const std::vector<std::int32_t>& words) {
    add(readable(words, format_));
    print("\n");
  }

 private:
  void add(const std::string& text) {
    print(text.substr(said_));
    said_ = text.size();
  }

  TokenFormat format_;
  std::size_t prompt_;
  const Endings& endings_;
  std::size_t said_ = 0;
};

constexpr std::int64_t completed_side_by_side = 64;

std::vector<Document> documents_for(const std::string& path, TokenFormat format) {
  if (format == TokenFormat::text) return read_documents(path);
  throw std::runtime_error("--complete takes documents of text, and this model's words are tokens");
}

// Beside the texts, which may be piped on.
void say_speed(const SampleSettings& settings, const SampledTexts& sample) {
  const Decoding decoding = settings.sampling.decoding;
  fmt::print(stderr, "{:.0f} {}s/s {} a key-value cache\n", sample.words_per_second,
             word_name(sample.format), decoding == Decoding::cached ? "with" : "without");
}

void print_completions(const SampleSettings& settings, const SampledTexts& sample) {
  if (settings.screen == Screen::silent) return;
  if (settings.screen == Screen::json) return print(json_line(settings, sample) + "\n");
  const Completions& made = sample.completions;
  for (std::size_t i = 0; i < made.equal.size(); ++i) {
    print(
        fmt::format("document {:5}: {} of {} words equal\n", i + 1, made.equal[i], made.words[i]));
  }
  print(fmt::format("{} of {} documents are completed word for word\n", made.whole(),
                    made.equal.size()));
  say_speed(settings, sample);
}

void print_all(const Texts& texts, TokenFormat format) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    print(fmt::format("---- text {} of {}\n{}\n", i + 1, texts.size(), readable(texts[i], format)));
  }
}

}  // namespace

TokenFormat words_of(const TrainingState& state) {
  const auto words = state.trainer.find("words");
  if (words == state.trainer.end() || !words->is_string()) {
    throw std::runtime_error(
        "the checkpoint does not say whether its words are bytes of text or tokens; train it for "
        "one more step with `fourfold train --resume`, which notes it");
  }
  return parse_token_format(words->get<std::string>());
}

Precision trained_precision(const TrainingState& state) {
  const auto typed = state.trainer.value("typed", nlohmann::json::object());
  const auto words = typed.value("--precision", std::vector<std::string>{"fp32"});
  return step_fields().with({}, "--precision", words.back()).precision;
}

SampledTexts sample_words(const SampleSettings& settings, World& world) {
  const TrainingState state = read_training_state(settings.checkpoint);
  const Model& model = state.model;
  const SamplingSettings& sampling = settings.sampling;
  SampledTexts result;
  result.state = state;
  std::vector<std::int32_t> prompt;
  std::vector<Document> documents;
  together([&] {
    check(model, settings.grid);
    result.format = words_of(state);
    prompt = words_of_prompt(sampling.prompt, result.format, model.vocabulary);
    if (!settings.complete.empty()) documents = documents_for(settings.complete, result.format);
  });

  LoadedModel loaded(settings.checkpoint, model, settings.precision, settings.grid, world);
  const std::int64_t texts = documents.empty() ? sampling.texts : completed_side_by_side;
  Sampler sampler(loaded.worker(), model, loaded.options(), texts, loaded.weights());
  if (!documents.empty()) {
    result.completions = complete(documents, texts, sampling.decoding, sampler);
    result.seconds = result.completions.seconds;
    result.words_per_second = static_cast<double>(result.completions.all_words()) / result.seconds;
    if (world.rank() == 0) print_completions(settings, result);
    return result;
  }

  if (settings.with_logits) result.logits = sampler.logits_after(prompt);
  const bool grows = world.rank() == 0 && settings.screen == Screen::lines && sampling.texts == 1;
  Typewriter typewriter(result.format, prompt.size(), sampling.endings);
  if (grows) typewriter.type(prompt);
  const double begin = wall_seconds();
  result.texts = sampler.draw(prompt, sampling, [&](const Texts& texts) {
    if (grows) typewriter.type(texts.front());
  });
  result.seconds = wall_seconds() - begin;
  std::size_t drawn = 0;
  for (std::vector<std::int32_t>& text : result.texts) {
    drawn += text.size() - prompt.size();
    const Ending ending = ending_of(text, prompt.size(), sampling.endings);
    text.resize(ending.words);
    result.ended_by.push_back(ending.by);
  }
  if (grows) typewriter.end(result.texts.front());
  result.words_per_second = static_cast<double>(drawn) / result.seconds;
  if (world.rank() == 0 && settings.screen == Screen::lines) say_speed(settings, result);
  if (world.rank() != 0 || grows) return result;
  if (settings.screen == Screen::lines) print_all(result.texts, result.format);
  if (settings.screen == Screen::json) print(json_line(settings, result) + "\n");
  return result;
}

std::string json_line(const SampleSettings& settings, const SampledTexts& sample) {
  const SamplingSettings& sampling = settings.sampling;
  nlohmann::ordered_json texts = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < sample.texts.size(); ++i) {
    const std::vector<std::int32_t>& words = sample.texts[i];
    texts.push_back({{"text", readable(words, sample.format)},
                     {"words", words},
                     {"ended_by", name(sample.ended_by[i])}});
  }
  nlohmann::ordered_json stops = nlohmann::ordered_json::array();
  for (const std::vector<std::int32_t>& stop : sampling.endings.stops) {
    stops.push_back(readable(stop, sample.format));
  }
  nlohmann::ordered_json line{{"kind", "sample"},
                              {"checkpoint", settings.checkpoint},
                              {"model", sample.state.model.name},
                              {"step", sample.state.step},
                              {"grid", settings.grid.str()},
                              {"precision", name(settings.precision)},
                              {"prompt", sampling.prompt},
                              {"temperature", sampling.temperature},
                              {"top_k", sampling.top_k},
                              {"top_p", sampling.top_p},
                              {"stop", stops},
                              {"end_words", sampling.endings.end_words},
                              {"seed", sampling.seed},
                              {"words_are", name(sample.format)},
                              {"texts", texts},
                              {"seconds", sample.seconds},
                              {"words_per_s", sample.words_per_second},
                              {"kv_cache", name(sampling.decoding)},
                              {"libraries", blas_report()}};
  if (settings.with_logits) line["logits"] = sample.logits;
  if (settings.complete.empty()) return line.dump();
  const Completions& made = sample.completions;
  line["kind"] = "completions";
  line["file"] = settings.complete;
  line["documents"] = made.equal.size();
  line["whole"] = made.whole();
  line["equal_words"] = made.equal;
  line["words"] = made.words;
  for (const char* of_texts :
       {"prompt", "temperature", "top_k", "top_p", "stop", "end_words", "seed", "texts"}) {
    line.erase(of_texts);
  }
  return line.dump();
}

}  // namespace fourfold::inline engine::inline train::inline sample
