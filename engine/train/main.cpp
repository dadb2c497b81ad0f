// fourfold-engine: trains under mpirun what `fourfold train` asked for. With --plan it only checks
// the command line and says how many ranks it needs, before any mpirun.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/kernels/openblas_core.hpp"
#include "engine/kernels/sgemm.hpp"
#include "engine/mpi/session.hpp"
#include "engine/train/agreement.hpp"
#include "engine/train/command_line.hpp"
#include "engine/train/flags.hpp"
#include "engine/train/resume.hpp"
#include "engine/train/run_folder.hpp"
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

// What was typed, with the flags of the run that is resumed.
struct Request {
  Typed typed;
  TrainingState resumed;             // of step 0 if none is
  std::vector<std::string> changes;  // since then
};

// Collective if a run is resumed.
Request request_of(const Typed& first) {
  App parsed;
  Typed again{first.words, {}, false, {}};
  parse(parsed, again);
  refuse_without_effect(parsed);
  if (first.flags.settings.resume.empty()) return {first, {}, {}};
  const std::string path =
      from_first_rank([&] { return checkpoint_meant(first.flags.settings.resume); });
  Request request;
  request.resumed = read_training_state(path);
  const nlohmann::json before = request.resumed.trainer.value("typed", nlohmann::json::object());
  request.typed.words = words_with(first.words, parsed, before);
  App app;
  parse(app, request.typed);
  request.typed.flags.settings.resume = path;
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
  if (settings.folder.empty()) settings.folder = new_folder(settings.model.name);
  return settings;
}

int plan(const Typed& typed) {
  const Request request = request_of(typed);
  const TrainSettings settings = settings_on(0, request);
  if (!settings.resume.empty()) refuse_resume(settings, request.resumed);
  refuse(settings);
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
  fmt::print("{}\n", result.dump());
  return 0;
}

int train_here(const Typed& typed, const Session& session) {
  watch_for_stop();
  World world;
  const Request request = request_of(typed);
  TrainSettings settings;
  together([&] { settings = settings_on(session.ranks(), request); });
  settings.folder = world.from_first(settings.folder);
  train(settings, world);
  return 0;
}

int complain(const std::string& sentence, int status) {
  fmt::print(stderr, "fourfold: {}\n", sentence);
  return status;
}

int print_help(const CLI::App& app) {
  const std::string text = app.help();
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return 0;
  if (errno == EPIPE) return 0;  // the reader, say `head`, has seen enough
  return complain(fmt::format("cannot write to standard output: {}", std::strerror(errno)), 1);
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
  } catch (const CLI::Success&) {  // --help
    return print_help(app);
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
