// The verbs of the `fourfold` command: each adds itself to the command line and sets what is to be
// done if it was typed.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace fourfold::inline scaling::inline cli {

// What the verb that was typed does; returns the exit status.
using Action = std::function<int()>;

void add_calibrate_verb(CLI::App& app, Action& action);
void add_campaign_verb(CLI::App& app, Action& action);
void add_project_verb(CLI::App& app, Action& action);
void add_search_verb(CLI::App& app, Action& action);
void add_advise_verb(CLI::App& app, Action& action);
void add_show_verb(CLI::App& app, Action& action);
void add_platforms_verb(CLI::App& app, Action& action);
void add_models_verb(CLI::App& app, Action& action);
void add_systems_verb(CLI::App& app, Action& action);
void add_software_verb(CLI::App& app, Action& action);
void add_compare_verb(CLI::App& app, Action& action);
void add_collectives_verb(CLI::App& app, Action& action);
void add_train_verb(CLI::App& app, Action& action);
void add_sample_verb(CLI::App& app, Action& action);
void add_evaluate_verb(CLI::App& app, Action& action);
void add_checkpoint_verb(CLI::App& app, Action& action);
void add_validate_verb(CLI::App& app, Action& action);
// bench, regress and doctor: what fourfold-bench does.
void add_measuring_verbs(CLI::App& app, Action& action);

}  // namespace fourfold::inline scaling::inline cli
