// fourfold: the front door. Reads the command line, does what the verb says, and turns every error
// into one sentence and a status.
#include <malloc.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "scaling/cli/commands.hpp"
#include "scaling/cli/launch_flags.hpp"
#include "scaling/jobs/interrupt.hpp"
#include "scaling/records/finding.hpp"
#include "scaling/words/output.hpp"
#include "sim/question/provenance.hpp"
#include "support/complaint.hpp"
#include "support/exit_status.hpp"
#include "support/flag_checks.hpp"
#include "support/help_format.hpp"
#include "support/refused_words.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

// mallopt(3). A search records thousands of programs of a megabyte each: left alone, malloc gives
// each one's memory back to the system, which hands the next one's out page by page.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that it takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int run(int count, char** typed) {
  CLI::App app(
      "Fourfold projects 4D-parallel training of language models on supercomputers: which process "
      "grid is best, how fast it is, and what limits it; and it trains them over MPI.");
  app.name("fourfold");
  format_help(app);
  app.footer(
      "Examples:\n"
      "  fourfold campaign run scaling/campaigns/sc24_weak.toml\n"
      "  fourfold project --platform frontier --model gpt-80b --devices 8192\n"
      "  fourfold search --platform frontier --model gpt-320b --devices 32768\n"
      "  fourfold platforms show frontier\n"
      "  fourfold train\n"
      "`fourfold VERB --help` explains a verb.");
  app.set_version_flag("--version", "fourfold " + build().commit);
  app.require_subcommand(0, 1);  // what follows a verb is its own: `bench collectives`
  Action action;
  add_campaign_verb(app, action);
  add_project_verb(app, action);
  add_search_verb(app, action);
  add_advise_verb(app, action);
  add_show_verb(app, action);
  add_platforms_verb(app, action);
  add_models_verb(app, action);
  add_systems_verb(app, action);
  add_software_verb(app, action);
  add_compare_verb(app, action);
  add_collectives_verb(app, action);
  add_train_verb(app, action);
  add_sample_verb(app, action);
  add_evaluate_verb(app, action);
  add_checkpoint_verb(app, action);
  add_validate_verb(app, action);
  add_measuring_verbs(app, action);
  add_calibrate_verb(app, action);
  check_all_values(app);
  const std::string stray = stray_bytes({typed, typed + count});
  if (!stray.empty()) return complain(stray, status_could_not);
  std::vector<std::string> words = with_launch_flags(app, {typed + 1, typed + count});
  std::ranges::reverse(words);  // as CLI11 takes them
  try {
    app.parse(std::move(words));
  } catch (const CLI::Success& asked) {  // --help and --version
    std::ostringstream text;
    const int status = app.exit(asked, text, text);
    print(text.str());
    return status;
  } catch (const CLI::ParseError& error) {
    return complain(sentence_of(app, error), status_could_not);
  }
  if (!action) {
    say(typed_verb(app).help());
    return complain("say what to do: a verb is missing", status_could_not);
  }
  return action();
}

}  // namespace
}  // namespace fourfold::inline scaling::inline cli

int main(int count, char** words) {
  const bool answers = fourfold::hold_standard_streams();
  fourfold::watch_for_interrupts();
  if (!answers) {
    return fourfold::complain(fourfold::no_standard_output, fourfold::status_could_not);
  }
  fourfold::keep_freed_memory();
  try {
    return fourfold::run(count, words);
  } catch (const fourfold::Interrupted&) {
    return fourfold::complain("interrupted", fourfold::status_stopped);
  } catch (const std::bad_alloc&) {
    return fourfold::complain(
        "the memory that this machine or its limits allow is used up; ask for fewer devices or "
        "layers, or for --fidelity estimated",
        fourfold::status_could_not);
  } catch (const fourfold::DoesNotFit& error) {
    return fourfold::complain(error, fourfold::status_no);
  } catch (const std::exception& error) {
    return fourfold::complain(error, fourfold::status_could_not);
  }
}
