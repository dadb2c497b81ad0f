// fourfold bench, regress and doctor: has fourfold-bench measure, on ranks of its own or on those
// that mpirun or srun has started.

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "scaling/cli/commands.hpp"
#include "scaling/jobs/engine_job.hpp"
#include "scaling/jobs/interrupt.hpp"
#include "support/complaint.hpp"
#include "support/exit_status.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

int measure(const std::string& verb, const std::vector<std::string>& typed) {
  if (one_of_several_ranks()) become({"fourfold-bench", verb}, typed);
  const EngineJob job = run_engine_verb({"fourfold-bench", verb}, typed);
  if (job.status == status_stopped && job.killed.empty()) throw Interrupted();
  if (!job.killed.empty()) remark(job.killed);
  return job.status;
}

void add_measuring_verb(CLI::App& app, Action& action, const std::string& name,
                        const std::string& description) {
  CLI::App* verb = app.add_subcommand(name, description);
  verb->prefix_command();  // all words that follow are fourfold-bench's ...
  verb->set_help_flag();   // ... --help, too
  verb->callback([verb, name, &action] {
    action = [name, words = verb->remaining()] { return measure(name, words); };
  });
}

}  // namespace

void add_measuring_verbs(CLI::App& app, Action& action) {
  add_measuring_verb(app, action, "bench", "Measure this machine, part by part of a training step");
  add_measuring_verb(app, action, "doctor", "Say what is wrong with this machine before a study");
  add_measuring_verb(app, action, "regress", "Say whether this machine is as fast as it was");
}

}  // namespace fourfold::inline scaling::inline cli
