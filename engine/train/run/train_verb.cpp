// fourfold-engine train: trains under mpirun what `fourfold train` asked for; see train_verb.hpp.
#include "engine/train/run/train_verb.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/cpu/openblas_core.hpp"
#include "engine/cpu/sgemm.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/resume.hpp"
#include "engine/train/flags/command_line.hpp"
#include "engine/train/flags/flags.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/run_folder.hpp"
#include "engine/train/run/traced_step.hpp"
#include "engine/train/run/train.hpp"
#include "engine/train/verbs.hpp"
#include "support/exit_status.hpp"
#include "support/flag_checks.hpp"
#include "support/help_format.hpp"
#include "support/refused_words.hpp"
#include "support/standard_streams.hpp"

namespace fourfold {
namespace {

struct Typed {
  std::vector<std::string> words;
  TrainFlags flags;
  bool plan = false;
  nlohmann::json kept;  // typed flags that a resume goes on with
};

// Throws CLI::ParseError.
void parse(CLI::App& app, Typed& typed) {
  add_train_flags(app, typed.flags);
  app.add_flag("--plan", typed.plan, "")->group("");
  check_all_values(app);
  parse_words(app, typed.words);
  typed.kept = typed_flags(app);
}

struct App : CLI::App {
  App()
      : CLI::App(
            "Trains a GPT on this machine over MPI, 4D-parallel, with validation, checkpoints and "
            "texts drawn from the model.") {
    name("fourfold train");
    formatter(std::make_shared<HelpFormat>());
  }
};

// What was typed, with the flags of the run that is resumed.
struct Request {
  Typed typed;
  TrainingState resumed;             // of step 0 if none is
  std::vector<std::string> changes;  // since then
};

// Collective.
Request started_from(Typed typed, const CLI::App& parsed) {
  std::string& path = typed.flags.settings.start_from;
  path = from_first_rank([&] { return checkpoint_meant(path); });
  const TrainingState state = read_training_state(path);
  if (parsed.count("--model") == 0) typed.flags.known_model = state.model;
  return {typed, {}, {}};
}

// Collective if a run is resumed, or starts from another's weights.
Request request_of(const Typed& first) {
  App parsed;
  Typed again{first.words, {}, false, {}};
  parse(parsed, again);
  refuse_without_effect(parsed);
  if (!first.flags.settings.start_from.empty()) return started_from(first, parsed);
  if (first.flags.settings.resume.empty()) return {first, {}, {}};
  const std::string path =
      from_first_rank([&] { return checkpoint_meant(first.flags.settings.resume); });
  Request request;
  request.resumed = read_training_state(path);
  const nlohmann::json before = typed_before(request.resumed);
  request.typed.words = words_with(first.words, parsed, before);
  App app;
  parse(app, request.typed);
  request.typed.flags.settings.resume = path;
  // A model file may be gone, or in another folder.
  if (parsed.count("--model") == 0) request.typed.flags.known_model = request.resumed.model;
  request.changes = changes_since(before, parsed);
  return request;
}

// `ranks` are those that mpirun has started; 0 before it.
TrainSettings settings_on(std::int64_t ranks, Request request) {
  TrainFlags& flags = request.typed.flags;
  if (ranks > 0 && flags.ranks == 0 && flags.grid.empty()) flags.ranks = ranks;
  TrainSettings settings = settings_of(flags);
  settings.typed = request.typed.kept;
  settings.changes = request.changes;
  if (settings.folder.empty()) settings.folder = folder_resumed(settings.resume);
  if (settings.folder.empty()) settings.folder = new_folder(settings.model.name);
  return settings;
}

int plan(const Typed& typed) {
  const Request request = request_of(typed);
  const TrainSettings settings = settings_on(0, request);
  TrainingState before = request.resumed;
  if (!settings.resume.empty()) refuse_resume(settings, before);
  if (!settings.start_from.empty()) {
    before = read_training_state(settings.start_from);
    expect_model_of(settings.start_from, before.model, settings.model);
  }
  refuse(settings, before);
  traced_step(settings, request.resumed.step);
  std::vector<std::string> arguments{"train"};
  for (const std::string& word : typed.words) {
    if (word != "--plan") arguments.push_back(word);
  }
  if (typed.flags.settings.folder.empty()) arguments.push_back("--folder=" + settings.folder);
  if (typed.flags.ranks == 0 && typed.flags.grid.empty()) {
    arguments.push_back("--grid=" + settings.grid.str());
  }
  const nlohmann::json result{{"ranks", settings.grid.size()},
                              {"folder", settings.folder},
                              {"log", log_path(settings)},
                              {"json", settings.screen == Screen::json},
                              {"arguments", arguments}};
  print(result.dump() + '\n');
  return 0;
}

int train_here(const Typed& typed, const Session& session) {
  World world;
  const Request request = request_of(typed);
  TrainSettings settings;
  together([&] {
    settings = settings_on(session.ranks(), request);
    expect_ranks(settings.grid, session.ranks());
  });
  settings.folder = world.from_first(settings.folder);
  return train(settings, world).stopped ? status_stopped : status_done;
}

}  // namespace

int run_train_verb(const Started& started) {
  Typed typed{started.arguments(), {}, false, {}};
  App app;
  try {
    parse(app, typed);
  } catch (const CLI::Success&) {  // --help
    return print_help(app);
  } catch (const CLI::ParseError& error) {
    return complain(sentence_of(app, error), status_could_not);
  }
  if (!typed.plan) {
    use_one_thread();  // for the speed that a warning measures
    repair_openblas_core(core_wish(typed.flags.openblas_core));
    return work_over_mpi(started, [&](const Session& s) { return train_here(typed, s); });
  }
  const TrainSettings& asked = typed.flags.settings;
  if (asked.resume.empty() && asked.start_from.empty()) return plan(typed);
  // Reading a checkpoint is collective, even on one rank.
  return run_session(started.count, started.words, [&](const Session&) { return plan(typed); });
}

}  // namespace fourfold
