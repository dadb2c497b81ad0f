// One command line for all of them; see checkpoint_verb.hpp.
#include "engine/train/run/checkpoint_verb.hpp"

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/resume.hpp"
#include "engine/train/flags/command_line.hpp"
#include "engine/train/flags/flags.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/sample/sample.hpp"
#include "support/exit_status.hpp"
#include "support/field.hpp"
#include "support/help_format.hpp"
#include "support/refused_words.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline engine::inline train::inline run {
namespace {

// Collective: the checkpoint has a say.
CheckpointWork work_of(const CheckpointFlags& flags) {
  CheckpointWork work;
  work.checkpoint = from_first_rank([&] { return checkpoint_meant(flags.checkpoint); });
  work.state = read_training_state(work.checkpoint);
  together([&] {
    work.grid = grid_of(flags.grid, flags.ranks, 1);
    work.precision = flags.precision.empty()
                         ? trained_precision(work.state)
                         : step_fields().with({}, "--precision", flags.precision).precision;
  });
  if (flags.json) work.screen = Screen::json;
  return work;
}

int plan(const CheckpointVerb& verb, const CheckpointFlags& flags, const Started& started) {
  const CheckpointWork work = work_of(flags);
  verb.check(work);
  std::vector<std::string> arguments{verb.name};
  for (const std::string& word : started.arguments()) {
    if (word != "--plan") arguments.push_back(word);
  }
  if (flags.grid.empty()) arguments.push_back("--grid=" + work.grid.str());
  print(nlohmann::json{{"ranks", work.grid.size()}, {"arguments", arguments}}.dump() + '\n');
  return status_done;
}

int run_here(const CheckpointVerb& verb, const CheckpointFlags& flags) {
  World world;
  const CheckpointWork work = work_of(flags);
  together([&] { expect_ranks(work.grid, world.size()); });
  return verb.run(work, world);
}

}  // namespace

void add_checkpoint_flag(FlagGroup& group, CheckpointFlags& flags) {
  group
      .add("--checkpoint", flags.checkpoint,
           "a checkpoint, or a run's folder, which means its newest")
      ->required();
}

void add_grid_flags(FlagGroup& group, CheckpointFlags& flags, const std::string& otherwise) {
  group.add("--ranks", flags.ranks, "MPI processes; 0: those of the grid, or one")
      ->check(whole_number(0));
  const std::string grid =
      "XxYxZxDATA, such as 2x1x1x1, or by name, such as x=2,pipe=2, whatever the checkpoint was "
      "trained on; without it all ranks lie along data" +
      otherwise;
  group.add("--grid", flags.grid, grid.c_str());
  group.add("--precision", flags.precision, "fp32 or bf16; without it, that of the training");
}

int run_on_checkpoint(const CheckpointVerb& verb, const Started& started) {
  CLI::App app(verb.description);
  app.name(std::string("fourfold ") + verb.name);
  format_help(app);
  CheckpointFlags flags;
  bool plan_only = false;
  verb.add_flags(app, flags);
  app.add_flag("--plan", plan_only, "")->group("");
  check_all_values(app);
  try {
    parse_words(app, started.arguments());
  } catch (const CLI::Success&) {  // --help
    return print_help(app);
  } catch (const CLI::ParseError& error) {
    return complain(sentence_of(app, error), status_could_not);
  }
  if (!plan_only) {
    return work_over_mpi(started, [&](const Session&) { return run_here(verb, flags); });
  }
  // Reading a checkpoint is collective, even on one rank.
  return run_session(started.count, started.words, [&](const Session&) {
    verb.check_flags(app);
    return plan(verb, flags, started);
  });
}

}  // namespace fourfold::inline engine::inline train::inline run
