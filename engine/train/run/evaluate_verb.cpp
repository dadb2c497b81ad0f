// fourfold-engine evaluate: flags, plan and work of `fourfold evaluate`; see evaluate_verb.hpp.
#include "engine/train/run/evaluate_verb.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/resume.hpp"
#include "engine/train/flags/command_line.hpp"
#include "engine/train/flags/flag_group.hpp"
#include "engine/train/flags/flags.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/evaluate.hpp"
#include "engine/train/sample/sample.hpp"
#include "support/exit_status.hpp"
#include "support/field.hpp"
#include "support/help_format.hpp"
#include "support/refused_words.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline engine::inline train::inline run {
namespace {

struct EvaluateFlags {
  EvaluateSettings settings;
  std::string grid, precision;  // empty: ranks along data; as it was trained
  std::int64_t ranks = 0;
  bool json = false;
  bool plan = false;
};

void add_evaluate_flags(CLI::App& verb, EvaluateFlags& flags) {
  constexpr const char* group = "What is evaluated, and where";
  FlagGroup what(verb, group);
  EvaluateSettings& settings = flags.settings;
  what.add("--checkpoint", settings.checkpoint,
           "a checkpoint, or a run's folder, which means its newest")
      ->required();
  what.add("--data", settings.files,
           "files or 'patterns', as `fourfold train` takes them: text, .jsonl documents whose "
           "prompts do not count, or .bin shards of tokens")
      ->required();
  add_token_bits_flag(verb, settings.token_bits)->group(group);
  what.add("--words", settings.most_words, "of each file so many, from the first on; 0: all")
      ->check(whole_number(0));
  what.add("--ranks", flags.ranks, "MPI processes; 0: those of the grid, or one")
      ->check(whole_number(0));
  what.add("--grid", flags.grid,
           "XxYxZxDATA, such as 2x1x1x1, or by name, such as x=2,pipe=2, whatever the checkpoint "
           "was trained on; without it all ranks lie along data");
  what.add("--precision", flags.precision, "fp32 or bf16; without it, that of the training");
  what.add("--batch", settings.batch,
           "sequences side by side, on all ranks, which takes time and memory but changes no loss; "
           "0: some thousand words on each")
      ->check(whole_number(0));
  verb.add_flag("--json", flags.json, "print one line of JSON")->group(group);
  verb.add_flag("--plan", flags.plan, "")->group("");
  verb.footer(
      "Every word but the first of a file is guessed once, from those before it in its window: the "
      "file\nis cut into windows of the model's sequence, front to back. The loss is the mean over "
      "these words\nin nats; perplexity is e to that power.\n\n"
      "Examples:\n"
      "  fourfold evaluate --checkpoint results/train/RUN --data held-out.txt\n"
      "  fourfold evaluate --checkpoint RUN/checkpoints --data 'val_*.bin' --ranks 2 --json");
}

// With the checkpoint that is meant. Collective: it has a say.
EvaluateSettings settings_of(const EvaluateFlags& flags, TrainingState& state) {
  EvaluateSettings settings = flags.settings;
  settings.checkpoint =
      from_first_rank([&] { return checkpoint_meant(flags.settings.checkpoint); });
  state = read_training_state(settings.checkpoint);
  together([&] {
    settings.grid = grid_of(flags.grid, flags.ranks, 1);
    settings.precision = flags.precision.empty()
                             ? trained_precision(state)
                             : step_fields().with({}, "--precision", flags.precision).precision;
  });
  if (flags.json) settings.screen = Screen::json;
  return settings;
}

int plan(const EvaluateFlags& flags, const Started& started) {
  TrainingState state;
  const EvaluateSettings settings = settings_of(flags, state);
  refuse(settings, state);
  std::vector<std::string> arguments{"evaluate"};
  for (const std::string& word : started.arguments()) {
    if (word != "--plan") arguments.push_back(word);
  }
  if (flags.grid.empty()) arguments.push_back("--grid=" + settings.grid.str());
  print(nlohmann::json{{"ranks", settings.grid.size()}, {"arguments", arguments}}.dump() + '\n');
  return status_done;
}

int evaluate_here(const EvaluateFlags& flags) {
  World world;
  TrainingState state;
  const EvaluateSettings settings = settings_of(flags, state);
  together([&] { expect_ranks(settings.grid, world.size()); });
  return evaluate(settings, world).stopped ? status_stopped : status_done;
}

}  // namespace

int run_evaluate_verb(const Started& started) {
  CLI::App app("Says how well a trained checkpoint guesses the words of files, on any grid.");
  app.name("fourfold evaluate");
  app.formatter(std::make_shared<HelpFormat>());
  EvaluateFlags flags;
  add_evaluate_flags(app, flags);
  check_all_values(app);
  try {
    parse_words(app, started.arguments());
  } catch (const CLI::Success&) {  // --help
    return print_help(app);
  } catch (const CLI::ParseError& error) {
    return complain(sentence_of(app, error), status_could_not);
  }
  // Reading a checkpoint is collective, even on one rank.
  const auto make_plan = [&](const Session&) { return plan(flags, started); };
  if (flags.plan) return run_session(started.count, started.words, make_plan);
  return work_over_mpi(started, [&](const Session&) { return evaluate_here(flags); });
}

}  // namespace fourfold::inline engine::inline train::inline run
