// fourfold sample: has fourfold-engine draw text from a checkpoint.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "scaling/cli/commands.hpp"
#include "scaling/jobs/engine_job.hpp"
#include "support/standard_streams.hpp"

namespace fourfold {
namespace {

int sample(const std::vector<std::string>& typed) {
  const EngineJob job = run_engine_verb({"fourfold-engine", "sample"}, typed);
  if (!job.killed.empty()) say(fmt::format("fourfold: {}\n", job.killed));
  return job.status;
}

}  // namespace

void add_sample_verb(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("sample", "Draw text from a model that was trained here");
  verb->prefix_command();  // all words that follow are the engine's ...
  verb->set_help_flag();   // ... --help, too
  verb->callback(
      [verb, &action] { action = [words = verb->remaining()] { return sample(words); }; });
}

}  // namespace fourfold
