// The reader of campaigns/*.toml; see campaign.hpp.
#include "scaling/study/campaign.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/cli/what_if_words.hpp"
#include "scaling/study/toml_file.hpp"
#include "sim/question/point_json.hpp"
#include "support/field_json.hpp"
#include "support/json_object.hpp"

namespace fourfold {
namespace {

using nlohmann::json;

StoppingRule read_rule(JsonObject object) {
  object.allow_only({"at_least_grids", "at_most_grids", "margin_fraction", "work_limit"});
  StoppingRule rule;
  if (object.has("at_least_grids")) rule.at_least = object.positive("at_least_grids");
  if (object.has("at_most_grids")) rule.at_most = object.positive("at_most_grids");
  if (object.has("margin_fraction")) rule.margin = object.number("margin_fraction");
  if (object.has("work_limit")) rule.work_limit = object.positive("work_limit");
  if (rule.margin < 0.0 || rule.margin >= 1.0) {
    throw std::runtime_error("margin_fraction must be at least 0 and below 1");
  }
  if (rule.at_least > rule.at_most) {
    throw std::runtime_error("at_least_grids must not exceed at_most_grids");
  }
  return rule;
}

// The options that the object states, over those that are stated above it; micro-batches are
// searched.
FieldValues read_step_options(JsonObject& object, FieldValues above) {
  if (!object.has("options")) return above;
  const FieldValues written =
      read_given_fields(JsonObject(object.get("options"), "'options'"), step_fields().facts());
  if (written.contains("micro_batches")) {
    throw std::runtime_error("micro_batches belong to a point, not to the options");
  }
  for (const auto& [key, value] : written) above[key] = value;
  return above;
}

const json& list(JsonObject& object, const std::string& key) {
  const json& value = object.get(key);
  if (!value.is_array() || value.empty()) {
    throw std::runtime_error("'" + key + "' must be a list with at least one entry");
  }
  return value;
}

// What all machines of a campaign share, and then all points of a machine.
struct Pattern {
  Question question;
  FieldValues options;   // as written
  FieldValues instead;   // of the models' own
  std::string system;    // a name or a file; empty: none
  std::string software;  // a name or a file; empty: the system's or the machine's
  std::string grids_by;  // how grids are chosen that no point states; empty: by estimate
  std::int64_t batch_tokens = 0;
  json what_if = json::object();
  std::string folder;  // of the campaign file
};

// What campaigns, machines and points may each say for what is below them.
void read_shared(JsonObject& object, Pattern& pattern) {
  if (object.has("batch_tokens")) pattern.batch_tokens = object.positive("batch_tokens");
  if (object.has("system")) pattern.system = object.text("system");
  if (object.has("software")) pattern.software = object.text("software");
  pattern.options = read_step_options(object, pattern.options);
}

// One entry of a machine's points.
Question read_question(const json& entry, Pattern pattern, const Platform& platform) {
  JsonObject object(entry, "a point of " + pattern.question.platform);
  object.allow_only({"devices", "model", "grid", "micro_batches", "system", "options",
                     "batch_tokens", "software"});
  read_shared(object, pattern);
  Question question = pattern.question;
  question.devices = object.positive("devices");
  question.model = model_with(object.text("model"), pattern.instead);
  if (object.has("grid")) question.grid = ProcessGrid::parse(object.text("grid"));
  if (object.has("micro_batches")) question.micro_batches = object.positive("micro_batches");
  question.global_batch = sequences_in(pattern.batch_tokens, question.model);
  if (pattern.system.empty()) {
    step_fields().set(question.options, pattern.options);
    ask_of_software(question, pattern.software, "campaign", pattern.options);
  } else {
    question.software = pattern.software;
    if (!pattern.software.empty()) question.software_by = "campaign";
    question.stages.clear();  // the system's
    ask_of_system(question, read_system(pattern.system), {pattern.options, "campaign"}, platform);
  }
  if (!pattern.grids_by.empty()) ask_for_grids_by(question, pattern.grids_by);
  return question;
}

void read_machine(const json& entry, Pattern pattern, std::vector<Question>& questions) {
  JsonObject object(entry, "a machine");
  object.allow_only({"platform", "scales", "vocabulary", "what_if", "points", "system", "options",
                     "batch_tokens", "software"});
  read_shared(object, pattern);
  Question& shared = pattern.question;
  shared.platform = object.text("platform");
  if (object.has("scales")) shared.scales = read_scales(object.get("scales"));
  if (object.has("vocabulary")) pattern.instead["vocabulary"] = object.positive("vocabulary");
  const json& points = list(object, "points");
  const Platform platform = read_platform(shared.platform, shared.scales, shared.software);
  json what_if = pattern.what_if;
  if (object.has("what_if")) what_if.merge_patch(object.get("what_if"));
  shared.what_ifs = what_ifs_in(what_if, platform, pattern.folder);
  for (const json& point : points) {
    questions.push_back(read_question(point, pattern, platform));
    if (questions.back().devices > platform.devices()) {
      throw std::runtime_error(fmt::format("{} has {} devices, {} are too many", platform.name,
                                           platform.devices(), questions.back().devices));
    }
  }
}

// A point that stands twice would be one record and two rows.
void refuse_twins(const std::vector<Question>& questions) {
  std::map<std::string, std::size_t> number_of;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto [first, is_new] = number_of.emplace(json_of(questions[i]).dump(), i);
    if (is_new) continue;
    throw std::runtime_error(
        fmt::format("points {} and {} are the same: {} on {} devices of {}; leave one of them out",
                    first->second + 1, i + 1, questions[i].model.name, questions[i].devices,
                    questions[i].platform));
  }
}

}  // namespace

Campaign read_campaign(const std::string& path, const std::string& grids_by) {
  const json file = read_toml(path);
  Campaign campaign;
  campaign.name = std::filesystem::path(path).stem().string();
  try {
    if (file.empty()) {
      throw std::runtime_error(
          "the file says nothing; a campaign has a title, batch_tokens and machines with points");
    }
    JsonObject object(file, "the campaign");
    object.allow_only({"title", "fidelity", "simulate", "published_csv", "batch_tokens", "system",
                       "options", "what_if", "machine", "software", "grids_by"});
    campaign.title = object.text("title");
    if (object.has("fidelity")) campaign.fidelity = fidelity_named(object.text("fidelity"));
    if (object.has("simulate")) campaign.rule = read_rule(object.object("simulate"));
    if (object.has("published_csv")) {
      campaign.published =
          (std::filesystem::path(path).parent_path() / object.text("published_csv")).string();
    }
    Pattern pattern;
    pattern.batch_tokens = object.positive("batch_tokens");
    read_shared(object, pattern);
    if (object.has("what_if")) pattern.what_if = object.get("what_if");
    if (object.has("grids_by")) pattern.grids_by = object.text("grids_by");
    if (!grids_by.empty()) pattern.grids_by = grids_by;
    pattern.folder = std::filesystem::path(path).parent_path().string();
    const json& machines = list(object, "machine");
    for (const json& machine : machines) {
      read_machine(machine, pattern, campaign.questions);
    }
    refuse_twins(campaign.questions);
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  return campaign;
}

}  // namespace fourfold
