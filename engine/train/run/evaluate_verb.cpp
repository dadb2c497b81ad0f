// fourfold-engine evaluate: flags and work of `fourfold evaluate`; see evaluate_verb.hpp.
#include "engine/train/run/evaluate_verb.hpp"

#include <CLI/App.hpp>

#include "engine/train/flags/flags.hpp"
#include "engine/train/run/checkpoint_verb.hpp"
#include "engine/train/run/evaluate.hpp"
#include "support/exit_status.hpp"
#include "support/flag_checks.hpp"

namespace fourfold::inline engine::inline train::inline run {
namespace {

void add_evaluate_flags(CLI::App& verb, CheckpointFlags& flags, EvaluateSettings& settings) {
  constexpr const char* group = "What is evaluated, and where";
  FlagGroup what(verb, group);
  add_checkpoint_flag(what, flags);
  what.add("--data", settings.files,
           "files or 'patterns', as `fourfold train` takes them: text, .jsonl documents whose "
           "prompts do not count, or .bin shards of tokens")
      ->required();
  add_token_bits_flag(verb, settings.token_bits)->group(group);
  what.add("--words", settings.most_words, "of each file so many, from the first on; 0: all")
      ->check(whole_number(0));
  add_grid_flags(what, flags, "");
  what.add("--batch", settings.batch,
           "sequences side by side, on all ranks, which takes time and memory but changes no loss; "
           "0: some thousand words on each")
      ->check(whole_number(0));
  verb.add_flag("--json", flags.json, "print one line of JSON")->group(group);
  verb.footer(
      "Every word but the first of a file is guessed once, from those before it in its window: the "
      "file\nis cut into windows of the model's sequence, front to back. The loss is the mean over "
      "these words\nin nats; perplexity is e to that power.\n\n"
      "Examples:\n"
      "  fourfold evaluate --checkpoint results/train/RUN --data held-out.txt\n"
      "  fourfold evaluate --checkpoint RUN/checkpoints --data 'val_*.bin' --ranks 2 --json");
}

EvaluateSettings settings_of(EvaluateSettings settings, const CheckpointWork& work) {
  settings.checkpoint = work.checkpoint;
  settings.grid = work.grid;
  settings.precision = work.precision;
  settings.screen = work.screen;
  return settings;
}

}  // namespace

int run_evaluate_verb(const Started& started) {
  EvaluateSettings typed;
  return run_on_checkpoint(
      {.name = "evaluate",
       .description = "Says how well a trained checkpoint guesses the words of files, on any grid.",
       .add_flags = [&](CLI::App& verb,
                        CheckpointFlags& flags) { add_evaluate_flags(verb, flags, typed); },
       .check_flags = [](const CLI::App&) {},
       .check = [&](const CheckpointWork& work) { refuse(settings_of(typed, work), work.state); },
       .run =
           [&](const CheckpointWork& work, World& world) {
             evaluate(settings_of(typed, work), world);
             return status_done;
           }},
      started);
}

}  // namespace fourfold::inline engine::inline train::inline run
