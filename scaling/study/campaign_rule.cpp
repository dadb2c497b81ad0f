// When simulating ends, read strictly; see campaign_rule.hpp.
#include "scaling/study/campaign_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "support/json_object.hpp"

namespace fourfold::inline scaling::inline study {
namespace {
using nlohmann::json;

constexpr std::int64_t every_grid = 1'000'000;  // more than any search finds

StoppingRule read_simulate(JsonObject object) {
  object.allow_only({"at_least_grids", "at_most_grids", "margin_fraction", "work_limit"});
  StoppingRule rule;
  if (object.has("at_least_grids")) rule.at_least = object.positive("at_least_grids");
  if (object.has("at_most_grids")) rule.at_most = object.positive("at_most_grids");
  if (!object.has("at_least_grids")) rule.at_least = std::min(rule.at_least, rule.at_most);
  if (object.has("margin_fraction")) rule.margin = object.number("margin_fraction");
  if (object.has("work_limit")) rule.work_limit = object.positive("work_limit");
  if (rule.margin < 0.0 || rule.margin >= 1.0) {
    throw std::runtime_error("margin_fraction must be at least 0 and below 1");
  }
  if (rule.at_least > rule.at_most) {
    throw std::runtime_error(fmt::format("at_least_grids is {}, more than at_most_grids, {}",
                                         rule.at_least, rule.at_most));
  }
  return rule;
}

bool asks_for_all(const json& file) {
  return file.contains("grids") && file.at("grids") == "all";
}

// Why a key of [simulate] cannot take effect; empty: it can.
std::string why_idle(const std::string& key, const json& file, const Campaign& campaign,
                     const SaidInstead& instead) {
  const auto simulates_nothing = [](Fidelity fidelity) {
    return fidelity != Fidelity::measured && !simulates(fidelity);
  };
  if (simulates_nothing(campaign.fidelity) &&
      simulates_nothing(instead.fidelity.value_or(campaign.fidelity))) {
    return fmt::format("fidelity = \"{}\" simulates nothing", name(campaign.fidelity));
  }
  const auto single = [](const Question& question) {
    return question.grid && question.micro_batches;
  };
  if (std::ranges::all_of(campaign.questions, single)) {
    return "all points state grid and micro_batches, which leaves one simulation of each";
  }
  if (key == "work_limit") return "";
  if (asks_for_all(file)) return "grids = \"all\" simulates every grid";
  const auto by_model = [&](const Question& question) {
    return single(question) || question.grids_by != GridsBy::estimate;
  };
  const bool of_grids = key != "margin_fraction";
  if (of_grids && instead.grids_by.empty() && std::ranges::all_of(campaign.questions, by_model)) {
    return "grids_by says which grids are simulated";
  }
  return "";
}

}  // namespace

StoppingRule read_rule(const json& file, const Campaign& campaign) {
  StoppingRule rule;
  JsonObject object(file, "the campaign");
  if (object.has("simulate")) rule = read_simulate(object.object("simulate"));
  if (object.has("grids") && object.one_of("grids", {"searched", "all"}) == "all") {
    if (!simulates(campaign.fidelity)) {
      object.fail("'grids = \"all\"' simulates every grid: it needs a fidelity that simulates");
    }
    rule.at_least = rule.at_most = every_grid;
  }
  return rule;
}

void refuse_idle_rule(const json& file, const TomlLines& lines, const Campaign& campaign,
                      const SaidInstead& instead) {
  if (!file.contains("simulate")) return;
  for (const auto& [key, value] : file.at("simulate").items()) {
    const std::string why = why_idle(key, file, campaign, instead);
    if (why.empty()) continue;
    throw AtLine(fmt::format("line {}: '{}' of [simulate] cannot take effect: {}",
                             lines.at("/simulate/" + key).line, key, why));
  }
}

}  // namespace fourfold::inline scaling::inline study
