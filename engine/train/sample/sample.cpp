// Weights from the file, forward passes, words on the screen; see sample.hpp.
#include "engine/train/sample/sample.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/batch.hpp"
#include "engine/cpu/openblas_core.hpp"
#include "engine/cpu/tuned_backend.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/stop.hpp"
#include "engine/train/sample/prompt.hpp"
#include "schedule/order/step.hpp"

namespace fourfold {

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

StepOptions options_of(const SampleSettings& settings) {
  StepOptions options;
  options.precision = settings.precision;
  options.recompute = Recompute::none;
  return options;
}

// One text as it grows: prints what each word adds.
class Typewriter {
 public:
  explicit Typewriter(TokenFormat format) : format_(format) {}

  void type(const std::vector<std::int32_t>& words) { add(readable_so_far(words, format_)); }
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
  std::size_t said_ = 0;
};

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

Sample sample(const SampleSettings& settings, World& world) {
  const TrainingState state = read_training_state(settings.checkpoint);
  const Model& model = state.model;
  const SamplingSettings& sampling = settings.sampling;
  Sample result{state, TokenFormat::text, {}, 0.0, false};
  std::vector<std::int32_t> prompt;
  together([&] {
    check(model, settings.grid);
    result.format = words_of(state);
    prompt = words_of_prompt(sampling.prompt, result.format, model.vocabulary);
  });

  const StepOptions options = options_of(settings);
  const Program program = record_evaluation(model, options, stage_of(settings.grid, world.rank()));
  TunedBackend backend;
  Channels channels(settings.grid, program.channels, Transport::ring, ProgressMode::tiles,
                    backend.memory());
  Weights weights(program, settings.grid, world.rank(), backend.memory());
  read_checkpoint(settings.checkpoint, model, weights);
  Sampler sampler({world, channels, backend}, model, options, sampling.texts, weights);

  const bool grows = world.rank() == 0 && settings.screen == Screen::lines && sampling.texts == 1;
  Typewriter typewriter(result.format);
  if (grows) typewriter.type(prompt);
  const double begin = now();
  result.texts = sampler.draw(prompt, sampling, [&](const Texts& texts) {
    if (grows) typewriter.type(texts.front());
    for (const double asked : world.all(stop_asked() ? 1.0 : 0.0)) {
      result.stopped = result.stopped || asked != 0.0;
    }
    return !result.stopped;
  });
  result.seconds = now() - begin;
  if (grows) typewriter.end(result.texts.front());
  if (world.rank() != 0 || grows) return result;
  if (settings.screen == Screen::lines) print_all(result.texts, result.format);
  if (settings.screen == Screen::json) print(json_line(settings, result) + "\n");
  return result;
}

std::string json_line(const SampleSettings& settings, const Sample& sample) {
  const SamplingSettings& sampling = settings.sampling;
  nlohmann::ordered_json texts = nlohmann::ordered_json::array();
  for (const std::vector<std::int32_t>& words : sample.texts) {
    texts.push_back({{"text", readable(words, sample.format)}, {"words", words}});
  }
  const nlohmann::ordered_json line{{"kind", "sample"},
                                    {"checkpoint", settings.checkpoint},
                                    {"model", sample.state.model.name},
                                    {"step", sample.state.step},
                                    {"grid", settings.grid.str()},
                                    {"precision", name(settings.precision)},
                                    {"prompt", sampling.prompt},
                                    {"temperature", sampling.temperature},
                                    {"top_k", sampling.top_k},
                                    {"seed", sampling.seed},
                                    {"words_are", name(sample.format)},
                                    {"texts", texts},
                                    {"seconds", sample.seconds},
                                    {"stopped", sample.stopped},
                                    {"libraries", blas_report()}};
  return line.dump();
}

}  // namespace fourfold
