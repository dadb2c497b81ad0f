// fourfold-engine sample: flags and work of `fourfold sample`; see sample_verb.hpp.
#include "engine/train/sample/sample_verb.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/batch.hpp"
#include "engine/train/checkpoint/end_words.hpp"
#include "engine/train/flags/command_line.hpp"
#include "engine/train/flags/flags.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/checkpoint_verb.hpp"
#include "engine/train/sample/ending.hpp"
#include "engine/train/sample/prompt.hpp"
#include "engine/train/sample/sample.hpp"
#include "support/exit_status.hpp"

namespace fourfold::inline engine::inline train::inline sample {
namespace {

struct SampleFlags {
  SampleSettings settings;
  std::string cache = "on";
  std::vector<std::string> stops;
  std::string end_word = "model";
};

void add_sample_flags(CLI::App& verb, CheckpointFlags& place, SampleFlags& flags) {
  FlagGroup what(verb, "From what, and where");
  SamplingSettings& sampling = flags.settings.sampling;
  add_checkpoint_flag(what, place);
  add_grid_flags(what, place, ", which share out texts, not the work of one");
  sampling.texts = 1;
  add_sampling_flags(verb, sampling);
  FlagGroup(verb, sampling_group).add("--seed", sampling.seed, "another seed, another text");
  FlagGroup how(verb, sampling_group);
  verb.add_option("--stop", flags.stops,
                  "a text ends before this one; may be given several times: text, or for token "
                  "shards numbers")
      ->group(sampling_group)
      ->allow_extra_args(false);
  how.add("--end-word", flags.end_word,
          "a text ends before this word, a number; model: that of the model, such as the zero byte "
          "of documents; none");
  how.add("--kv-cache", flags.cache,
          "on: a word costs one look at itself, keys and values of earlier ones are kept; off: at "
          "the whole text anew");
  CLI::Option* const complete =
      how.add("--complete", flags.settings.complete,
              "a .jsonl file of documents (lines {\"prompt\": \"...\", \"completion\": \"...\"}): "
              "instead of texts, each completion is written greedily and compared word by word");
  CLI::Option* const json =
      verb.add_flag(
              "--json", place.json,
              "print one line of JSON: texts, their words as numbers, and what they came from")
          ->group(sampling_group);
  verb.add_flag("--logits", flags.settings.with_logits,
                "in the JSON, too: what the model says after the prompt about each word of the "
                "vocabulary")
      ->group(sampling_group)
      ->needs(json)
      ->excludes(complete);
  verb.footer(
      "A text sees its last words only, as many as the model's sequence has. The same seed gives "
      "the\nsame text on the same grid; another grid adds up in another order, and may part from "
      "it "
      "where two\nwords are equally likely.\n\n"
      "Examples:\n"
      "  fourfold sample --checkpoint results/train/RUN --prompt 'It was'\n"
      "  fourfold sample --checkpoint results/train/RUN --complete documents.jsonl --json\n"
      "  fourfold sample --checkpoint RUN/checkpoints/step-00000500.json --texts 4 --top-k 40 "
      "--json\n"
      "  fourfold sample --checkpoint RUN --top-p 0.9 --stop '%' --stop '--'");
}

void refuse_flags_without_effect(const CLI::App& verb) {
  refuse_drawing_without_effect(verb, verb, "--seed");
  if (verb.count("--complete") == 0) return;
  for (const char* flag : {"--prompt", "--texts", "--tokens", "--temperature", "--top-k", "--top-p",
                           "--seed", "--stop", "--end-word"}) {
    if (verb.count(flag) == 0) continue;
    throw std::runtime_error(fmt::format(
        "{} has no effect with --complete, which writes what each document asks for", flag));
  }
}

std::vector<std::int32_t> end_words_in(const CheckpointWork& work) {
  try {
    return end_words_of(work.state);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(work.checkpoint + " " + error.what());
  }
}

Endings endings_of(const SampleFlags& flags, const CheckpointWork& work) {
  Endings endings;
  const std::int64_t vocabulary = work.state.model.vocabulary;
  for (const std::string& stop : flags.stops) {
    endings.stops.push_back(words_of_stop(stop, words_of(work.state), vocabulary));
  }
  endings.end_words = end_words_asked(flags.end_word, end_words_in(work), vocabulary);
  return endings;
}

SampleSettings settings_of(const SampleFlags& flags, const CheckpointWork& work) {
  SampleSettings settings = flags.settings;
  settings.checkpoint = work.checkpoint;
  settings.grid = work.grid;
  settings.precision = work.precision;
  settings.screen = work.screen;
  settings.sampling.decoding = parse_decoding(flags.cache);
  settings.sampling.endings = endings_of(flags, work);
  return settings;
}

void check_work(const SampleFlags& flags, const CheckpointWork& work) {
  const SampleSettings settings = settings_of(flags, work);
  check(work.state.model, settings.grid);
  words_of_prompt(settings.sampling.prompt, words_of(work.state), work.state.model.vocabulary);
  if (!settings.complete.empty()) read_documents(settings.complete);
}

int sample_here(const SampleFlags& flags, const CheckpointWork& work, World& world) {
  SampleSettings settings;
  together([&] { settings = settings_of(flags, work); });
  sample_words(settings, world);
  return status_done;
}

}  // namespace

int run_sample_verb(const Started& started) {
  SampleFlags typed;
  return run_on_checkpoint(
      {.name = "sample",
       .description = "Draws text from a trained checkpoint, on any grid.",
       .add_flags = [&](CLI::App& verb,
                        CheckpointFlags& place) { add_sample_flags(verb, place, typed); },
       .check_flags = refuse_flags_without_effect,
       .check = [&](const CheckpointWork& work) { check_work(typed, work); },
       .run = [&](const CheckpointWork& work,
                  World& world) { return sample_here(typed, work, world); }},
      started);
}

}  // namespace fourfold::inline engine::inline train::inline sample
