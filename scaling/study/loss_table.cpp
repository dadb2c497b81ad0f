// From a log to a table by step; see loss_table.hpp.
#include "scaling/study/loss_table.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace fourfold {
namespace {

struct Losses {
  std::string training, validation;
};

// "gpt-bytes, 0.83 million parameters, on grid 1x1x1x2"
std::string model_text(const nlohmann::json& run) {
  const nlohmann::json& model = run.at("model");
  return fmt::format("{}, {:.2f} million parameters, on grid {}",
                     model.at("name").get<std::string>(),
                     model.at("parameters").get<double>() / 1e6, run.at("grid").get<std::string>());
}

}  // namespace

LossTable loss_table(const std::string& log_path) {
  std::ifstream log(log_path);
  if (!log.is_open()) throw std::runtime_error("cannot read " + log_path);
  std::map<std::int64_t, Losses> steps;
  LossTable table;
  std::string entropy;
  try {
    for (std::string line; std::getline(log, line);) {
      const nlohmann::json entry = nlohmann::json::parse(line);
      const std::string kind = entry.at("kind");
      if (kind == "run") {
        const std::int64_t before = entry.value("resumed_after_step", std::int64_t{0});
        steps.erase(steps.upper_bound(before), steps.end());
        entropy = entry.at("unigram_nats").dump();
        table.model = model_text(entry);
        table.data = entry.at("data");
        table.word = entry.at("word");
      }
      if (kind != "step" && kind != "validation") continue;
      Losses& losses = steps[entry.at("step").get<std::int64_t>()];
      const nlohmann::json& loss = entry.at("loss");  // null where it is no number
      if (loss.is_number()) (kind == "step" ? losses.training : losses.validation) = loss.dump();
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(log_path + " is no log of a training run: " + error.what());
  }
  table.csv = "step,training_loss,validation_loss,unigram_nats\n";
  for (const auto& [step, losses] : steps) {
    table.csv += fmt::format("{},{},{},{}\n", step, losses.training, losses.validation, entropy);
  }
  return table;
}

}  // namespace fourfold
