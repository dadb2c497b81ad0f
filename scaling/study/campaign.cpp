// The reader of campaigns/*.toml; see campaign.hpp. It is long because every key of a campaign is
// read, passed on to its points and refused here.
#include "scaling/study/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "platforms/file/scale_groups.hpp"
#include "scaling/records/asked_stages.hpp"
#include "scaling/study/campaign_rule.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/study/measured_point.hpp"
#include "scaling/study/memorisation.hpp"
#include "scaling/study/point_names.hpp"
#include "scaling/study/strategy_file.hpp"
#include "scaling/study/sweep.hpp"
#include "scaling/words/amounts.hpp"
#include "scaling/words/output.hpp"
#include "scaling/words/toml_file.hpp"
#include "scaling/words/what_if_words.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/program/without_effect.hpp"
#include "sim/question/point_json.hpp"
#include "support/field_json.hpp"
#include "support/json_object.hpp"
#include "support/json_text.hpp"
#include "support/plain_name.hpp"

namespace fourfold::inline scaling::inline study {
namespace {
using nlohmann::json;

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
  FieldValues options;                        // as written
  std::map<std::string, std::string> places;  // by option: the pointer of the table that has it
  FieldValues instead;                        // of the models' own
  std::string system;                         // a name or a file; empty: none
  std::string software;  // a name or a file; empty: the system's or the machine's
  std::string grids_by;  // how grids are chosen that no point states; empty: by estimate
  std::int64_t batch_tokens = 0;
  bool batch_per_device = false;  // those are of one device
  json what_if = json::object();
  json scales = json::object();
  json sweeps;             // null: none
  json batches;            // of points without one of their own; null: batch_tokens says it
  std::string folder;      // of the campaign file
  std::string label;       // of a machine, with which those of its points begin
  std::int64_t seeds = 1;  // of each point whose what-ifs are random, or that is measured
  bool measured = false;
};

// The options that the object states, over those that are stated above it; micro-batches are
// searched.
void read_step_options(JsonObject& object, const std::string& pointer, Pattern& pattern) {
  if (!object.has("options")) return;
  const FieldValues written =
      read_given_fields(JsonObject(object.get("options"), "'options'"), step_fields().facts());
  if (written.contains("micro_batches")) {
    throw std::runtime_error("micro_batches belong to a point, not to the options");
  }
  for (const auto& [key, value] : written) {
    pattern.options[key] = value;
    pattern.places[key] = pointer;
  }
}

// What campaigns, machines and points may each say for what is below them.
void read_shared(JsonObject& object, const std::string& pointer, Pattern& pattern) {
  const bool whole = object.has("batch_tokens"), share = object.has("batch_tokens_per_device");
  if (whole && share)
    object.fail("'batch_tokens' and 'batch_tokens_per_device' exclude each other");
  if (whole || share) pattern.batches = nullptr;
  if (whole && object.get("batch_tokens").is_array()) {
    pattern.batches = list(object, "batch_tokens");
  } else if (whole || share) {
    pattern.batch_per_device = share;
    pattern.batch_tokens = positive_up_to(
        object, share ? "batch_tokens_per_device" : "batch_tokens", most_batch_tokens);
  }
  if (object.has("system")) pattern.system = object.text("system");
  if (object.has("software")) pattern.software = object.text("software");
  if (object.has("memory_risk")) pattern.question.memory_risk = risk_in(object);
  read_step_options(object, pointer, pattern);
}

// What a machine or a point says instead of its models.
void read_instead(JsonObject& object, FieldValues& instead) {
  for (const char* key : {"sequence_tokens", "vocabulary"}) {
    if (object.has(key)) instead[key] = object.positive(key);
  }
}

// The model of a point, or what a rule makes of one for so many devices.
Model read_model_of(JsonObject& object, std::int64_t devices, const FieldValues& instead) {
  if (object.has("model") == object.has("grow")) {
    object.fail("either 'model' or 'grow' says what is trained");
  }
  const auto read = [&](const std::string& model) {
    say_what_is_not_said(model);
    return model_with(model, instead);
  };
  if (object.has("model")) return read(object.text("model"));
  JsonObject rule = object.object("grow");
  rule.allow_only({"model", "devices", "along"});
  const Model base = read(rule.text("model"));
  const double factor = static_cast<double>(devices) /
                        static_cast<double>(positive_up_to(rule, "devices", most_of_anything));
  const bool wider = rule.has("along") && rule.one_of("along", {"layers", "width"}) == "width";
  return grown(base, factor, wider ? Growth::width : Growth::layers);
}

// The options are as `fourfold train` has them, unless they are stated. What cannot be measured is
// refused; the platform is that of the simulated twin.
void ask_for_measurement(Question& question, const Pattern& pattern) {
  if (!pattern.system.empty() || !pattern.what_if.empty() || !pattern.scales.empty() ||
      !pattern.grids_by.empty() || question.memory_risk) {
    throw std::runtime_error(
        "a measured point is trained as it is: 'system', 'what_if', 'scales', 'grids_by' and "
        "'memory_risk' are for points that are projected");
  }
  question.software = pattern.software;
  if (!pattern.software.empty()) question.software_by = "campaign";
  question.options.precision = Precision::fp32;
  question.options.recompute = Recompute::none;
  step_fields().set(question.options, pattern.options);
  if (question.grid && !question.micro_batches) question.micro_batches = 1;
  if (question.grid) {
    if (question.grid->size() != question.devices) {
      throw std::runtime_error(fmt::format("grid {} has {} devices, not {}", question.grid->str(),
                                           question.grid->size(), question.devices));
    }
    StepOptions options = question.options;
    options.micro_batches = *question.micro_batches;
    const std::string why = misfit(question.model, *question.grid, question.global_batch, options);
    if (!why.empty()) throw std::runtime_error(why);
    return;
  }
  if (!is_calibrated(question.platform)) return;
  const Platform platform = read_platform(question.platform, {}, question.software);
  if (question.devices > platform.devices()) {
    throw std::runtime_error(
        fmt::format("{} has {} devices, so that no grid can be searched for {}; state one: grid = "
                    "\"1x1x1x{}\"",
                    platform.name, platform.devices(), question.devices, question.devices));
  }
}

// Where things stand in the file, and what its points are called.
struct Reading {
  const TomlLines& lines;
  PointNames names = {};
  // By option and the pointer of its table: why it has had no effect yet; empty: it had one.
  std::map<std::pair<std::string, std::string>, std::string> idle = {};
};

// As a file has it.
std::string written(const FieldValue& value) {
  return std::visit([](const auto& plain) { return json(plain).dump(); }, value);
}

void note_effects(const Pattern& pattern, const StepOptions& options, Reading& reading) {
  const FieldValues values = step_fields().values(options);
  for (const auto& [key, pointer] : pattern.places) {
    std::string& why = reading.idle.try_emplace({key, pointer}, "?").first->second;
    if (why.empty()) continue;
    const std::optional<WithoutEffect> idle = why_without_effect(key, options);
    why = idle ? fmt::format("{} = {} {}", idle->by, written(values.at(idle->by)), idle->why) : "";
  }
}

// One entry of a machine's points, without lists.
Question read_question(const json& entry, const std::string& pointer, Pattern pattern,
                       Reading& reading) {
  JsonObject object(entry, "a point of " + pattern.question.platform);
  object.allow_only({"devices", "model", "grow", "grid", "micro_batches", "system", "options",
                     "batch_tokens", "batch_tokens_per_device", "software", "sequence_tokens",
                     "vocabulary", "scales", "what_if", "memory_risk"});
  read_shared(object, pointer, pattern);
  if (!pattern.batches.is_null()) object.positive("batch_tokens");  // a list in a list is none
  read_instead(object, pattern.instead);
  if (object.has("scales")) pattern.scales.merge_patch(object.get("scales"));
  if (object.has("what_if")) add_what_ifs(pattern.what_if, object.get("what_if"));
  Question question = pattern.question;
  question.devices = positive_up_to(object, "devices", most_of_anything);
  question.model = read_model_of(object, question.devices, pattern.instead);
  if (object.has("grid")) question.grid = ProcessGrid::parse(object.text("grid"));
  if (object.has("micro_batches"))
    question.micro_batches = positive_up_to(object, "micro_batches", most_of_anything);
  if (pattern.batch_tokens < 1) {
    throw std::runtime_error("'batch_tokens' or 'batch_tokens_per_device' is missing");
  }
  question.global_batch = sequences_in(
      pattern.batch_per_device ? pattern.batch_tokens * question.devices : pattern.batch_tokens,
      question.model);
  if (pattern.measured) {
    ask_for_measurement(question, pattern);
    note_effects(pattern, question.options, reading);
    return question;
  }
  question.scales = read_scales(pattern.scales);
  const Platform platform = read_platform(question.platform, question.scales, question.software);
  check_as_scaled(platform);
  question.what_ifs = what_ifs_in(pattern.what_if, platform, pattern.folder);
  if (question.devices > platform.devices()) {
    throw std::runtime_error(fmt::format("{} has {} devices, {} are too many", platform.name,
                                         platform.devices(), question.devices));
  }
  if (pattern.system.empty()) {
    step_fields().set(question.options, pattern.options);
    ask_of_software(question, pattern.software, "campaign", pattern.options);
  } else {
    question.software = pattern.software;
    if (!pattern.software.empty()) question.software_by = "campaign";
    question.stages.clear();  // the system's
    ask_of_system(question, read_system(pattern.system), {pattern.options, "campaign"}, platform);
  }
  ask_for_stages(question);
  if (!pattern.grids_by.empty()) ask_for_grids_by(question, pattern.grids_by);
  note_effects(pattern, question.options, reading);
  return question;
}

// Each is a point with a record of its own.
constexpr std::int64_t most_repetitions = 10'000;

// Once, or with as many seeds as are wanted.
void add_repetitions(Question question, PointTag tag, std::int64_t seeds, Campaign& campaign) {
  const bool random = campaign.is_measured() || question.what_ifs.needs_seed();
  const std::int64_t count = random ? seeds : 1;
  for (std::int64_t i = 1; i <= count; ++i) {
    tag.repetition = i;
    campaign.questions.push_back(question);
    campaign.tags.push_back(tag);
    ++question.what_ifs.seed;
  }
}

void read_machine(const json& entry, const std::string& pointer, Pattern pattern, Reading& reading,
                  Campaign& campaign) {
  JsonObject object(entry, "a machine");
  object.allow_only({"platform", "scales", "sequence_tokens", "vocabulary", "what_if", "points",
                     "system", "options", "batch_tokens", "batch_tokens_per_device", "software",
                     "label", "memory_risk"});
  read_shared(object, pointer, pattern);
  if (object.has("label")) pattern.label = object.text("label");
  pattern.question.platform = object.text("platform");
  if (pattern.question.platform == "here") pattern.question.platform = here_platform;
  if (object.has("scales")) pattern.scales = object.get("scales");
  if (is_calibrated(pattern.question.platform)) {
    read_platform(pattern.question.platform, read_scales(pattern.scales));
  } else if (!pattern.measured) {
    throw std::runtime_error(
        fmt::format("this machine is not calibrated yet; `fourfold calibrate --out {}` measures it",
                    here_platform));
  }
  read_instead(object, pattern.instead);
  const json& points = list(object, "points");
  if (object.has("what_if")) add_what_ifs(pattern.what_if, object.get("what_if"));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string place = fmt::format("{}/points/{}", pointer, i);
    located(reading.lines, place, [&] {
      for (const SweptPoint& point : swept(points[i], pattern.sweeps, pattern.batches)) {
        const PointTag tag{
            joined(pattern.label, point.label), point.value, 1, joined(pattern.label, point.line),
            joined(pattern.label, point.rest),  point.stated};
        add_repetitions(read_question(point.entry, place, pattern, reading), tag, pattern.seeds,
                        campaign);
      }
      for (std::size_t k = reading.names.size(); k < campaign.questions.size(); ++k) {
        reading.names.add(campaign.questions[k], campaign.tags[k]);
      }
    });
  }
}

// "2T", "300e9" or a number of tokens.
double read_tokens(JsonObject& object) {
  const json& value = object.get("tokens");
  const double tokens =
      value.is_string() ? amount_in("'tokens'", value.get<std::string>()) : object.number("tokens");
  if (tokens <= 0.0) object.fail("'tokens' must be above 0");
  return tokens;
}

std::vector<std::string> read_figures(JsonObject& object) {
  std::vector<std::string> figures;
  for (const json& value : list(object, "figures")) {
    if (!value.is_string()) object.fail("'figures' must be a list of texts");
    figures.push_back(figure_named(value.get<std::string>()).name);
  }
  return figures;
}

void read_head(JsonObject& object, const std::string& path, Campaign& campaign) {
  campaign.title = object.text("title");
  if (object.has("fidelity")) campaign.fidelity = fidelity_named(object.text("fidelity"));
  if (object.has("measure")) {
    if (!campaign.is_measured()) object.fail("'measure' needs fidelity = \"measured\"");
    campaign.measure = read_measure(object.object("measure"), path);
  }
  if (object.has("figures")) campaign.figures = read_figures(object);
  if (object.has("tokens")) campaign.tokens = read_tokens(object);
  if (object.has("axis")) campaign.axis = object.text("axis");
  if (object.has("published_csv")) {
    campaign.published =
        (std::filesystem::path(path).parent_path() / object.text("published_csv")).string();
  }
}

// Each by itself, so that what is wrong with one is said with its own line.
void check_sweeps(const json& file, const TomlLines& lines) {
  if (!file.contains("sweep") || !file.at("sweep").is_array()) return;
  for (std::size_t i = 0; i < file.at("sweep").size(); ++i) {
    located(lines, fmt::format("/sweep/{}", i),
            [&] { swept(json::object(), json::array({file.at("sweep")[i]})); });
  }
}

// What the file says and no point can follow.
void refuse_idle(JsonObject& object, const Campaign& campaign, std::int64_t repetitions) {
  const auto is_repeated = [](const PointTag& tag) { return tag.repetition > 1; };
  if (repetitions > 1 && std::ranges::none_of(campaign.tags, is_repeated)) {
    object.fail(
        "'repetitions' would all be the same: they need jitter or random placement, or points "
        "that are measured");
  }
  const auto is_swept = [](const PointTag& tag) { return !tag.label.empty(); };
  if (!campaign.axis.empty() && std::ranges::none_of(campaign.tags, is_swept)) {
    object.fail(
        "'axis' is of the figure lines, which draws what a sweep changes: it needs a sweep");
  }
}

// Said of the key where it stands; a sweep has it in an entry, or as the text of its own key.
void refuse_idle_options(const Reading& reading) {
  for (const auto& [option, why] : reading.idle) {
    if (why.empty()) continue;
    const auto& [key, pointer] = option;
    const std::string last = key.substr(key.rfind('.') + 1);
    const std::string own = pointer + "/options/" + (last == key ? key : "overlap/" + last);
    const bool is_own = reading.lines.contains(own);
    const std::string sentence = fmt::format("'{}' cannot take effect on any point: {}",
                                             is_own ? last : "options." + key, why);
    throw AtLine(fmt::format(
        "line {}: {}",
        is_own ? reading.lines.at(own).line : line_of(reading.lines, "/sweep", sentence),
        sentence));
  }
}

void read_body(const json& file, const std::string& path, const SaidInstead& instead,
               const TomlLines& lines, Campaign& campaign) {
  if (is_memorisation(file)) {
    throw std::runtime_error(
        "the file is a study of memorisation, which only `fourfold campaign run` knows: it keeps, "
        "prints and draws what is answered");
  }
  refuse_broken_texts(lines);
  check_sweeps(file, lines);
  if (file.empty()) {
    throw std::runtime_error(
        "the file says nothing; a campaign has a title, batch_tokens and machines with points");
  }
  JsonObject object(file, "the campaign");
  object.allow_only({"title",         "fidelity",     "simulate",
                     "published_csv", "batch_tokens", "batch_tokens_per_device",
                     "system",        "options",      "what_if",
                     "machine",       "software",     "sweep",
                     "grids",         "repetitions",  "figures",
                     "tokens",        "axis",         "grids_by",
                     "measure",       "memory_risk"});
  read_head(object, path, campaign);
  campaign.rule = read_rule(file, campaign);
  Pattern pattern;
  pattern.measured = campaign.is_measured();
  if (object.has("sweep")) pattern.sweeps = object.get("sweep");
  read_shared(object, "", pattern);
  if (object.has("what_if")) pattern.what_if = object.get("what_if");
  if (object.has("grids_by")) pattern.grids_by = object.text("grids_by");
  if (!instead.grids_by.empty()) pattern.grids_by = instead.grids_by;
  if (object.has("repetitions"))
    pattern.seeds = positive_up_to(object, "repetitions", most_of_anything);
  if (pattern.seeds > most_repetitions) {
    object.fail(fmt::format("'repetitions' must be at most {}", most_repetitions));
  }
  pattern.folder = std::filesystem::path(path).parent_path().string();
  const json& machines = list(object, "machine");
  Reading reading{lines};
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const std::string pointer = fmt::format("/machine/{}", i);
    located(lines, pointer,
            [&] { read_machine(machines[i], pointer, pattern, reading, campaign); });
  }
  refuse_idle(object, campaign, pattern.seeds);
  refuse_idle_rule(file, lines, campaign, instead);
  refuse_idle_options(reading);
}

}  // namespace

bool is_calibrated(const std::string& platform) {
  return platform != here_platform || std::filesystem::is_regular_file(platform);
}

Campaign read_campaign(const std::string& path, const SaidInstead& instead) {
  Campaign campaign;
  campaign.name = made_plain(std::filesystem::path(path).stem().string());
  read_toml_file(path, [&](const json& file, const TomlLines& lines) {
    read_body(file, path, instead, lines, campaign);
  });
  return campaign;
}

}  // namespace fourfold::inline scaling::inline study
