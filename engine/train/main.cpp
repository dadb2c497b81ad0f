// fourfold-engine: trains under mpirun what `fourfold train` asked for. With --plan it only checks
// the command line and says how many ranks it needs, before any mpirun.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/kernels/openblas_core.hpp"
#include "engine/kernels/sgemm.hpp"
#include "engine/mpi/session.hpp"
#include "engine/train/agreement.hpp"
#include "engine/train/command_line.hpp"
#include "engine/train/flags.hpp"
#include "engine/train/stop.hpp"
#include "engine/train/train.hpp"

namespace fourfold {
namespace {

constexpr int wrong_usage = 2;

struct Typed {
  std::vector<std::string> words;
  TrainFlags flags;
  bool plan = false;
  nlohmann::json kept;  // typed flags that a resume goes on with
};

// build/train/MODEL-TIME, beside the bin/ of this executable.
std::string new_folder(const std::string& model) {
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe");
  return (own.parent_path().parent_path() / "train" /
          fmt::format("{}-{:%Y%m%d-%H%M%S}", model, fmt::gmtime(std::time(nullptr))))
      .string();
}

// Throws CLI::ParseError.
void parse(CLI::App& app, Typed& typed) {
  add_train_flags(app, typed.flags);
  app.add_flag("--plan", typed.plan, "")->group("");
  parse_words(app, typed.words);
  typed.kept = typed_flags(app);
}

struct App : CLI::App {
  App()
      : CLI::App(
            "Trains a GPT on this machine over MPI, 4D-parallel, with validation, checkpoints and\n"
            "texts drawn from the model.") {
    name("fourfold train");
  }
};

// With the flags of the run that is resumed. Collective if there is one.
Typed with_resumed_flags(const Typed& first) {
  if (first.flags.settings.resume.empty()) return first;
  App parsed, app;
  Typed ignored{first.words, {}, false, {}};
  parse(parsed, ignored);
  const TrainingState state = read_training_state(first.flags.settings.resume);
  Typed typed{
      words_with(first.words, parsed, state.trainer.value("typed", nlohmann::json::object())),
      {},
      false,
      {}};
  parse(app, typed);
  return typed;
}

// `ranks` are those that mpirun has started; 0 before it.
TrainSettings settings_on(std::int64_t ranks, Typed typed) {
  if (ranks > 0 && typed.flags.ranks == 0 && typed.flags.grid.empty()) typed.flags.ranks = ranks;
  TrainSettings settings = settings_of(typed.flags);
  settings.typed = typed.kept;
  if (settings.folder.empty()) settings.folder = new_folder(settings.model.name);
  return settings;
}

int plan(const Typed& typed) {
  const TrainSettings settings = settings_on(0, with_resumed_flags(typed));
  refuse(settings);
  if (!settings.resume.empty()) refuse_finished(settings);
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
                              {"arguments", arguments}};
  fmt::print("{}\n", result.dump());
  return 0;
}

int train_here(const Typed& typed, const Session& session) {
  watch_for_stop();
  World world;
  const Typed all = with_resumed_flags(typed);
  TrainSettings settings;
  together([&] { settings = settings_on(session.ranks(), all); });
  settings.folder = world.from_first(settings.folder);
  train(settings, world);
  return 0;
}

int complain(const std::string& sentence, int status) {
  fmt::print(stderr, "fourfold: {}\n", sentence);
  return status;
}

int run(int count, char** words) {
  if (count < 2 || std::string(words[1]) != "train") {
    return complain("fourfold-engine is started by `fourfold train`; it knows the verb train only",
                    wrong_usage);
  }
  Typed typed{{words + 2, words + count}, {}, false, {}};
  App app;
  try {
    parse(app, typed);
  } catch (const CLI::Success& asked) {  // --help
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return complain(sentence_of(app, error), wrong_usage);
  }
  if (typed.plan && typed.flags.settings.resume.empty()) return plan(typed);
  if (!typed.plan) repair_openblas_core();
  use_one_thread();
  return run_session(count, words, [&](const Session& session) {
    if (!typed.plan) return train_here(typed, session);
    try {
      return plan(typed);
    } catch (const std::exception& error) {  // MPI's own end would drown the sentence
      return complain(error.what(), 1);
    }
  });
}

}  // namespace
}  // namespace fourfold

int main(int count, char** words) {
  try {
    return fourfold::run(count, words);
  } catch (const std::exception& error) {
    return fourfold::complain(error.what(), 1);
  }
}
