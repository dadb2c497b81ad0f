// fourfold-engine train: trains under mpirun what `fourfold train` asked for; see train_verb.hpp.
#include "engine/train/run/train_verb.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
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
#include "engine/train/run/heartbeats.hpp"
#include "engine/train/run/run_folder.hpp"
#include "engine/train/run/stop.hpp"
#include "engine/train/run/traced_step.hpp"
#include "engine/train/run/train.hpp"
#include "engine/train/verbs.hpp"
#include "support/exit_status.hpp"
#include "support/flag_checks.hpp"
#include "support/help_format.hpp"
#include "support/owned_folder.hpp"
#include "support/refused_words.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline engine::inline train::inline run {
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
    format_help(*this);
  }
};

// What was typed, with the flags of the run that is resumed.
struct Request {
  Typed typed;
  TrainingState resumed;             // of step 0 if none is
  std::vector<std::string> changes;  // since then
  std::string files_taken;           // "--data book.txt", as it was typed then
  std::vector<std::string> remarks;  // what of its flags is not taken, if any is not
};

// Collective.
Request started_from(Typed typed, const CLI::App& parsed) {
  std::string& path = typed.flags.settings.start_from;
  path = from_first_rank([&] { return checkpoint_meant(path); });
  const TrainingState state = read_training_state(path);
  if (parsed.count("--model") == 0) typed.flags.known_model = state.model;
  return {typed, {}, {}, "", {}};
}

// Collective if a run is resumed, or starts from another's weights.
Request request_of(const Typed& first) {
  App parsed;
  Typed again{first.words, {}, false, {}};
  parse(parsed, again);
  const TrainSettings& asked = first.flags.settings;
  if (asked.resume.empty() || !asked.start_from.empty()) refuse_without_effect(parsed, parsed);
  if (!asked.start_from.empty()) return started_from(first, parsed);
  if (asked.resume.empty()) return {first, {}, {}, "", {}};
  const std::string path = from_first_rank([&] { return checkpoint_meant(asked.resume); });
  Request request;
  request.resumed = read_training_state(path);
  nlohmann::json before = typed_before(request.resumed);
  request.files_taken = files_taken(parsed, before);
  if (const std::string flags = left_out(before); !flags.empty()) {
    request.remarks.push_back(fmt::format(
        "{} remembers {}, which is not taken from a checkpoint, as it names what a run writes or "
        "is; give it again where it is meant",
        path, flags));
  }
  if (const std::string flags = take_flags_of_stages(parsed, before); !flags.empty()) {
    request.remarks.push_back(
        fmt::format("{} remembers {}, which is not taken to a grid with another number of stages; "
                    "give it again where it is meant",
                    path, flags));
  }
  App app;
  try {
    request.typed.words = words_with(first.words, parsed, before);
    parse(app, request.typed);
  } catch (const CLI::ParseError& error) {
    throw FailedTogether("the flags that " + path +
                         " remembers cannot be used: " + sentence_of(app, error));
  } catch (const std::runtime_error& error) {
    throw FailedTogether(path + ": " + error.what());
  }
  try {
    refuse_without_effect(parsed, app);
  } catch (const std::runtime_error& error) {
    throw FailedTogether(
        fmt::format("{} (beside the flags that {} remembers)", error.what(), path));
  }
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
  settings.files_taken = request.files_taken;
  if (settings.folder.empty()) settings.folder = folder_resumed(settings.resume);
  return settings;
}

// A folder that no other run makes, for one that was given none.
std::unique_ptr<NewFolder> made_folder(TrainSettings& settings) {
  if (!settings.folder.empty()) return nullptr;
  auto made = std::make_unique<NewFolder>(default_folder(settings.model.name));
  settings.folder = made->path();
  return made;
}

int plan(const Typed& typed) {
  const Request request = request_of(typed);
  TrainSettings settings = settings_on(0, request);
  TrainingState before = request.resumed;
  if (!settings.resume.empty()) refuse_resume(settings, before);
  if (!settings.start_from.empty()) {
    before = read_training_state(settings.start_from);
    expect_model_of(settings.start_from, before.model, settings.model);
  }
  TrainSettings looked_at = settings;
  if (settings.folder.empty()) looked_at.folder = default_folder(settings.model.name);
  refuse(looked_at, before);
  traced_step(settings, request.resumed.step);
  const std::unique_ptr<NewFolder> made = made_folder(settings);
  std::vector<std::string> arguments{"train"};
  for (const std::string& word : typed.words) {
    if (word != "--plan") arguments.push_back(word);
  }
  if (typed.flags.settings.folder.empty()) arguments.push_back("--folder=" + settings.folder);
  if (typed.flags.ranks == 0 && typed.flags.grid.empty()) {
    arguments.push_back("--grid=" + settings.grid.str());
  }
  const Patience patience = patience_of(settings.hang_timeout);
  const nlohmann::json heartbeats{{"file", heartbeats_file(settings.folder)},
                                  {"ranks", settings.grid.size()},
                                  {"name_after", patience.to_name},
                                  {"end_after", patience.to_end},
                                  {"end_when_asked_after", patience.when_asked}};
  const nlohmann::json result{{"ranks", settings.grid.size()},
                              {"heartbeats", heartbeats},
                              {"folder", settings.folder},
                              {"log", log_path(settings)},
                              {"goes_on", goes_on_in_its_folder(settings)},
                              {"json", settings.screen == Screen::json},
                              {"arguments", arguments},
                              {"made", made ? made->release() : std::vector<std::string>()}};
  print(result.dump() + '\n');
  return 0;
}

int train_here(const Typed& typed, const Session& session) {
  watch_for_stop();
  World world;
  const Request request = request_of(typed);
  for (const std::string& one : request.remarks) {
    if (world.rank() == 0) remark(one);
  }
  TrainSettings settings;
  together([&] {
    settings = settings_on(session.ranks(), request);
    expect_ranks(settings.grid, session.ranks());
  });
  std::unique_ptr<NewFolder> made;  // by the first rank
  on_first_rank([&] { made = made_folder(settings); });
  settings.folder = world.from_first(settings.folder);
  return train_model(settings, world).stopped ? status_stopped : status_done;
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

}  // namespace fourfold::inline engine::inline train::inline run
