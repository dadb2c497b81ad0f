// fourfold train: has fourfold-engine train, draws the loss curve, and says how to go on where a
// signal ended the job.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "scaling/cli/commands.hpp"
#include "scaling/jobs/engine_job.hpp"
#include "scaling/study/loss_table.hpp"
#include "scaling/study/plot.hpp"
#include "scaling/words/output.hpp"
#include "support/complaint.hpp"
#include "support/exit_status.hpp"
#include "support/own_file.hpp"
#include "support/shell_word.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

bool holds_checkpoint(const std::string& folder) {
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    const std::filesystem::path path = entry.path();
    if (path.filename().string().starts_with("step-") && path.extension() == ".json") return true;
  }
  return false;
}

std::string how_to_go_on(const std::string& folder) {
  const std::string checkpoints = folder + "/checkpoints";
  return holds_checkpoint(checkpoints)
             ? "go on from its newest checkpoint with: fourfold train --resume " +
                   shell_argument(checkpoints)
             : "it had written no checkpoint yet";
}

// A table with other columns is somebody else's; a link is replaced, not followed.
void expect_none_or_ours(const std::string& path, const std::string& csv) {
  std::error_code missing;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, missing);
  if (!std::filesystem::is_regular_file(status)) return;
  const std::string columns = csv.substr(0, csv.find('\n') + 1);
  if (read_text_file(path).starts_with(columns)) return;
  throw std::runtime_error(path + " is of no run and is kept; move it, then resume");
}

std::string loss_curve(const nlohmann::json& plan) {
  const std::string folder = plan.at("folder");
  try {
    const LossTable losses = loss_table(plan.at("log"));
    expect_none_or_ours(folder + "/loss.csv", losses.csv);
    write_own_file(folder + "/loss.csv", losses.csv);
    const std::string drawn = draw_loss_curve(folder, losses);
    return losses.left_out.empty() ? drawn : drawn + "; " + losses.left_out;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(
        fmt::format("{} is trained, but there is no loss curve: {}", folder, error.what()));
  }
}

int train(const std::vector<std::string>& typed) {
  const EngineJob job = run_engine_verb({"fourfold-engine", "train"}, typed);
  const bool stopped = job.status == status_stopped && !job.plan.is_null();
  if (stopped || !job.killed.empty()) {
    remark(fmt::format("{}; {}", job.killed.empty() ? "interrupted" : job.killed,
                       how_to_go_on(job.plan.at("folder"))));
  }
  if (job.status != 0 || job.plan.is_null()) return job.status;
  const std::string drawn = loss_curve(job.plan);
  const nlohmann::ordered_json line{{"kind", "plots"}, {"text", drawn}};
  print((job.plan.at("json").get<bool>() ? line.dump() : drawn) + "\n");
  return 0;
}

}  // namespace

void add_train_verb(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("train", "Train a model on this machine, over MPI");
  verb->prefix_command();  // all words that follow are the engine's ...
  verb->set_help_flag();   // ... --help, too
  verb->callback(
      [verb, &action] { action = [words = verb->remaining()] { return train(words); }; });
}

}  // namespace fourfold::inline scaling::inline cli
