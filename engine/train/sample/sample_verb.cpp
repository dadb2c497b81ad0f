// fourfold-engine sample: flags, plan and work of `fourfold sample`; see sample_verb.hpp.
#include "engine/train/sample/sample_verb.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/batch.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/end_words.hpp"
#include "engine/train/checkpoint/resume.hpp"
#include "engine/train/flags/command_line.hpp"
#include "engine/train/flags/flag_group.hpp"
#include "engine/train/flags/flags.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/sample/ending.hpp"
#include "engine/train/sample/prompt.hpp"
#include "engine/train/sample/sample.hpp"
#include "engine/train/verbs.hpp"
#include "support/exit_status.hpp"
#include "support/field.hpp"
#include "support/help_format.hpp"
#include "support/refused_words.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline engine::inline train::inline sample {
namespace {

struct SampleFlags {
  SampleSettings settings;
  std::string grid, precision;  // empty: ranks along data; as it was trained
  std::string cache = "on";
  std::vector<std::string> stops;
  std::string end_word = "model";
  std::int64_t ranks = 0;
  bool json = false;
  bool plan = false;
};

void add_sample_flags(CLI::App& verb, SampleFlags& flags) {
  FlagGroup what(verb, "From what, and where");
  SamplingSettings& sampling = flags.settings.sampling;
  what.add("--checkpoint", flags.settings.checkpoint,
           "a checkpoint, or a run's folder, which means its newest")
      ->required();
  what.add("--ranks", flags.ranks, "MPI processes; 0: those of the grid, or one")
      ->check(whole_number(0));
  what.add("--grid", flags.grid,
           "XxYxZxDATA, such as 2x1x1x1, or by name, such as x=2,pipe=2, whatever the checkpoint "
           "was trained on; without it all ranks lie along data, which share out texts, not the "
           "work of one");
  what.add("--precision", flags.precision, "fp32 or bf16; without it, that of the training");
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
              "--json", flags.json,
              "print one line of JSON: texts, their words as numbers, and what they came from")
          ->group(sampling_group);
  verb.add_flag("--logits", flags.settings.with_logits,
                "in the JSON, too: what the model says after the prompt about each word of the "
                "vocabulary")
      ->group(sampling_group)
      ->needs(json)
      ->excludes(complete);
  verb.add_flag("--plan", flags.plan, "")->group("");
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
  refuse_drawing_without_effect(verb, "--seed");
  if (verb.count("--complete") == 0) return;
  for (const char* flag : {"--prompt", "--texts", "--tokens", "--temperature", "--top-k", "--top-p",
                           "--seed", "--stop", "--end-word"}) {
    if (verb.count(flag) == 0) continue;
    throw std::runtime_error(fmt::format(
        "{} has no effect with --complete, which writes what each document asks for", flag));
  }
}

std::vector<std::int32_t> end_words_in(const SampleFlags& flags, const TrainingState& state) {
  try {
    return end_words_of(state);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(flags.settings.checkpoint + " " + error.what());
  }
}

Endings endings_of(const SampleFlags& flags, const TrainingState& state) {
  Endings endings;
  const std::int64_t vocabulary = state.model.vocabulary;
  for (const std::string& stop : flags.stops) {
    endings.stops.push_back(words_of_stop(stop, words_of(state), vocabulary));
  }
  endings.end_words = end_words_asked(flags.end_word, end_words_in(flags, state), vocabulary);
  return endings;
}

// Collective: the checkpoint has a say.
SampleSettings settings_of(const SampleFlags& flags, const TrainingState& state) {
  SampleSettings settings = flags.settings;
  settings.grid = grid_of(flags.grid, flags.ranks, 1);
  settings.precision = flags.precision.empty()
                           ? trained_precision(state)
                           : step_fields().with({}, "--precision", flags.precision).precision;
  settings.sampling.decoding = parse_decoding(flags.cache);
  if (flags.json) settings.screen = Screen::json;
  settings.sampling.endings = endings_of(flags, state);
  return settings;
}

// With the checkpoint that is meant. Collective.
SampleFlags found(SampleFlags flags) {
  std::string& path = flags.settings.checkpoint;
  path = from_first_rank([&] { return checkpoint_meant(path); });
  return flags;
}

int plan(const SampleFlags& typed, const Started& started) {
  const SampleFlags flags = found(typed);
  const TrainingState state = read_training_state(flags.settings.checkpoint);
  const SampleSettings settings = settings_of(flags, state);
  check(state.model, settings.grid);
  words_of_prompt(settings.sampling.prompt, words_of(state), state.model.vocabulary);
  if (!settings.complete.empty()) read_documents(settings.complete);
  std::vector<std::string> arguments{"sample"};
  for (const std::string& word : started.arguments()) {
    if (word != "--plan") arguments.push_back(word);
  }
  if (flags.grid.empty()) arguments.push_back("--grid=" + settings.grid.str());
  print(nlohmann::json{{"ranks", settings.grid.size()}, {"arguments", arguments}}.dump() + '\n');
  return 0;
}

int sample_here(const SampleFlags& typed) {
  World world;
  const SampleFlags flags = found(typed);
  const TrainingState state = read_training_state(flags.settings.checkpoint);
  SampleSettings settings;
  together([&] {
    settings = settings_of(flags, state);
    expect_ranks(settings.grid, world.size());
  });
  sample_words(settings, world);
  return 0;
}

}  // namespace

int run_sample_verb(const Started& started) {
  CLI::App app("Draws text from a trained checkpoint, on any grid.");
  app.name("fourfold sample");
  app.formatter(std::make_shared<HelpFormat>());
  SampleFlags flags;
  add_sample_flags(app, flags);
  check_all_values(app);
  try {
    parse_words(app, started.arguments());
  } catch (const CLI::Success&) {  // --help
    return print_help(app);
  } catch (const CLI::ParseError& error) {
    return complain(sentence_of(app, error), status_could_not);
  }
  // Reading a checkpoint is collective, even on one rank.
  const auto make_plan = [&](const Session&) {
    refuse_flags_without_effect(app);
    return plan(flags, started);
  };
  if (flags.plan) return run_session(started.count, started.words, make_plan);
  return work_over_mpi(started, [&](const Session&) { return sample_here(flags); });
}

}  // namespace fourfold::inline engine::inline train::inline sample
