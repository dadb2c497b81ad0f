// Verbs that are fourfold-engine's alone: fourfold sample draws text from a checkpoint, fourfold
// evaluate says how well it guesses files, fourfold checkpoint imports one and exports one.

#include <CLI/App.hpp>

#include "scaling/cli/commands.hpp"
#include "scaling/jobs/engine_job.hpp"
#include "scaling/jobs/interrupt.hpp"
#include "support/complaint.hpp"
#include "support/exit_status.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

int run(const std::string& verb, const std::vector<std::string>& typed) {
  const EngineJob job = run_engine_verb({"fourfold-engine", verb}, typed);
  if (job.status == status_stopped && job.killed.empty()) throw Interrupted();
  if (!job.killed.empty()) remark(job.killed);
  return job.status;
}

void add_verb_of_engine(CLI::App& app, Action& action, const char* name, const char* help) {
  CLI::App* verb = app.add_subcommand(name, help);
  verb->prefix_command();  // all words that follow are the engine's ...
  verb->set_help_flag();   // ... --help, too
  verb->callback([verb, name, &action] {
    action = [name, words = verb->remaining()] { return run(name, words); };
  });
}

}  // namespace

void add_sample_verb(CLI::App& app, Action& action) {
  add_verb_of_engine(app, action, "sample", "Draw text from a model that was trained here");
}

void add_evaluate_verb(CLI::App& app, Action& action) {
  add_verb_of_engine(app, action, "evaluate", "Say the loss of a trained model on files");
}

void add_checkpoint_verb(CLI::App& app, Action& action) {
  add_verb_of_engine(app, action, "checkpoint",
                     "Import and export checkpoints in Hugging Face's layout");
}

}  // namespace fourfold::inline scaling::inline cli
