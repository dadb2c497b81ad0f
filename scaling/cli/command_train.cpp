// fourfold train: has fourfold-engine train, keeps the losses however the job ends, draws them at
// its end, and says how to go on where a signal ended it.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "scaling/cli/commands.hpp"
#include "scaling/jobs/engine_job.hpp"
#include "scaling/jobs/interrupt.hpp"
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
    const std::filesystem::path& path = entry.path();
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

// The losses that the folder has a table of; empty: none. One with other columns is somebody
// else's; a link is replaced, not followed.
std::string earlier_losses(const std::string& path) {
  std::error_code missing;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, missing);
  if (!std::filesystem::is_regular_file(status)) return "";
  const std::string csv = read_text_file(path);
  if (csv.starts_with(loss_columns)) return csv;
  throw std::runtime_error(path + " is of no run and is kept; move it, then resume");
}

// Of the log, and of earlier logs where the run goes on in its own folder.
LossTable written_losses(const nlohmann::json& plan) {
  const std::string path = plan.at("folder").get<std::string>() + "/loss.csv";
  const std::string earlier = earlier_losses(path);
  const LossTable losses =
      loss_table(plan.at("log"), plan.at("goes_on").get<bool>() ? earlier : "");
  write_own_file(path, losses.csv);
  return losses;
}

std::string loss_curve(const nlohmann::json& plan) {
  const std::string folder = plan.at("folder");
  try {
    const LossTable losses = written_losses(plan);
    const std::string drawn = draw_loss_curve(folder, losses);
    return losses.left_out.empty() ? drawn : drawn + "; " + losses.left_out;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(
        fmt::format("{} is trained, but there is no loss curve: {}", folder, error.what()));
  }
}

// A run that was stopped or has failed leaves the table of what it trained, if it came so far.
// Where the failure was that nothing can be written, that is said already.
void keep_losses(const EngineJob& job) {
  std::error_code missing;
  const std::filesystem::path log = job.plan.at("log").get<std::string>();
  if (!std::filesystem::is_regular_file(log, missing) || std::filesystem::is_empty(log, missing)) {
    return;
  }
  try {
    const PatientlyInterrupted patiently;
    const LossTable losses = written_losses(job.plan);
    if (!losses.left_out.empty()) remark(losses.left_out);
  } catch (const std::runtime_error& error) {
    if (job.status == status_stopped) remark(error.what());
  }
}

int train(const std::vector<std::string>& typed) {
  const EngineJob job = run_engine_verb({"fourfold-engine", "train"}, typed);
  const bool stopped = job.status == status_stopped && !job.plan.is_null();
  if (stopped || !job.killed.empty()) {
    remark(fmt::format("{}; {}", job.killed.empty() ? "interrupted" : job.killed,
                       how_to_go_on(job.plan.at("folder"))));
  }
  if (job.status != 0 && !job.plan.is_null()) keep_losses(job);
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
