// Records as lines of JSON; see record_json.hpp. Keys end in their unit: s, B, flop.
#include "scaling/records/record_json.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "platforms/device_memory.hpp"
#include "scaling/bars/error_bar_json.hpp"
#include "scaling/words/throughput_text.hpp"
#include "schedule/models/model_flops.hpp"
#include "sim/question/channel_json.hpp"
#include "sim/question/outcome_json.hpp"
#include "sim/question/point_json.hpp"
#include "support/json_object.hpp"

namespace fourfold::inline scaling::inline records {
namespace {

using nlohmann::json;

constexpr const char* format = "fourfold-record-2";

json json_of(const std::optional<double>& value) {
  return value ? json(*value) : json();
}

json json_of(const std::optional<Seconds>& value) {
  return value ? json(value->value) : json();
}

json json_of(const GridSeconds& grid) {
  return {{"grid", grid.grid.str()},
          {"micro_batches", grid.micro_batches},
          {"estimated_s", grid.estimated.value},
          {"simulated_s", grid.simulated ? json(grid.simulated->value) : json()},
          {"paper_communication_s", grid.paper.value}};
}

json json_of(const std::vector<GridSeconds>& grids) {
  json list = json::array();
  for (const GridSeconds& grid : grids) list.push_back(json_of(grid));
  return list;
}

std::optional<double> read_optional(JsonObject& object, const std::string& key) {
  return object.get(key).is_null() ? std::nullopt : std::optional(object.number(key));
}

GridSeconds read_grid(const json& entry, const std::string& key) {
  JsonObject one(entry, "'" + key + "'");
  GridSeconds grid;
  grid.grid = ProcessGrid::parse(one.text("grid"));
  grid.micro_batches = one.positive("micro_batches");
  grid.estimated = {one.number("estimated_s")};
  if (const auto simulated = read_optional(one, "simulated_s")) grid.simulated = {{*simulated}};
  grid.paper = {one.number("paper_communication_s")};
  one.finish();
  return grid;
}

std::vector<GridSeconds> read_grids(JsonObject& object, const std::string& key) {
  const json& list = object.get(key);
  if (!list.is_array()) throw std::runtime_error("'" + key + "' must be a list");
  std::vector<GridSeconds> grids;
  for (const json& entry : list) {
    grids.push_back(read_grid(entry, key));
  }
  return grids;
}

json json_of_search(const Record& record) {
  return {{"tried", record.tried},
          {"feasible", record.feasible},
          {"rejected", record.rejected},
          {"best_grids", json_of(record.best_grids)},
          {"paper_choice", json_of(record.paper_choice)},
          {"simulated", json_of(record.simulated)},
          {"left_out_at_work_limit", record.left_out},
          {"verdict", record.verdict},
          {"kendall_tau", json_of(record.tau)},
          {"top1_regret", json_of(record.regret)}};
}

void read_search(JsonObject object, Record& record) {
  record.tried = object.integer("tried");
  record.feasible = object.positive("feasible");
  const json& rejected = object.get("rejected");
  JsonObject reasons(rejected, "'rejected'");
  for (const auto& item : rejected.items()) {
    record.rejected[item.key()] = reasons.integer(item.key());
  }
  record.best_grids = read_grids(object, "best_grids");
  record.paper_choice = read_grid(object.get("paper_choice"), "paper_choice");
  record.simulated = read_grids(object, "simulated");
  record.left_out = object.integer("left_out_at_work_limit");
  record.verdict = object.text("verdict");
  record.tau = read_optional(object, "kendall_tau");
  record.regret = read_optional(object, "top1_regret");
  object.finish();
}

json json_of_roles(const Record& record) {
  json object = json::object();
  for (Role role : roles_in(record.memory_by_role)) {
    object[name(role)] = record.memory_by_role[static_cast<int>(role)].value;
  }
  return object;
}

void read_roles(JsonObject object, Record& record) {
  for (int role = 0; role < role_count; ++role) {
    const char* const key = name(static_cast<Role>(role));
    const bool may_lack = role >= training_role_count;
    if (!may_lack || object.has(key)) record.memory_by_role[role] = {object.number(key)};
  }
  object.finish();
}

void read_system_of(JsonObject object, Record& record) {
  record.system = object.text("name");
  if (object.has("software")) record.software = object.text("software");
  const json& words = object.get("set_by");
  JsonObject set_by(words, "'set_by'");
  for (const auto& item : words.items()) record.set_by[item.key()] = set_by.text(item.key());
  object.finish();
}

json json_of(const MeasuredStep& measured, const Record& record) {
  const double executed = record.executed.value * static_cast<double>(record.devices());
  return {{"low_s", measured.low.value},
          {"high_s", measured.high.value},
          {"steps", measured.steps},
          {"seed", measured.seed},
          {"transport", measured.transport},
          {"cpu", measured.cpu},
          {"libraries", measured.libraries},
          {"kernels_s", measured.kernels_s},
          {"executed_flop_per_s", executed / record.seconds().value},
          {"model_flop_per_s", record.rate().value},
          {"reference_s", measured.reference_s},
          {"foreign_cores", measured.foreign_cores}};
}

MeasuredStep read_measured(JsonObject object) {
  MeasuredStep measured;
  measured.low = {object.number("low_s")};
  measured.high = {object.number("high_s")};
  measured.steps = object.positive("steps");
  measured.seed = static_cast<std::uint64_t>(object.integer("seed"));
  measured.transport = object.text("transport");
  measured.cpu = object.text("cpu");
  measured.libraries = object.text("libraries");
  const json& kernels = object.get("kernels_s");
  JsonObject seconds(kernels, "'kernels_s'");
  for (const auto& item : kernels.items()) {
    measured.kernels_s[item.key()] = seconds.number(item.key());
  }
  measured.reference_s = object.number("reference_s");
  measured.foreign_cores = object.number("foreign_cores");
  object.number("executed_flop_per_s");  // these two follow from the rest
  object.number("model_flop_per_s");
  object.finish();
  return measured;
}

// The replay's outcome is the record's and is not written twice.
json json_of_replay(const std::optional<ReplayAnswer>& replay) {
  if (!replay) return json();
  json object = parse_json(to_json(*replay), "the answer");
  object.erase("outcome");
  object.erase("detail");  // a matter of an explanation, not of the record
  return object;
}

}  // namespace

namespace {

// What measured records lack.
void read_projection(JsonObject& object, Record& record) {
  record.estimated = {object.number("estimated_s")};
  record.memory_limit = {object.number("memory_limit_B")};
  if (object.has("chance_to_fit")) record.chance_to_fit = object.number("chance_to_fit");
  object.has("fits");  // follows from it
  record.advertised_peak = {object.number("advertised_peak_flop_per_s")};
  read_search(object.object("search"), record);
  if (const json& replay = object.get("replay"); !replay.is_null()) {
    if (!replay.is_object()) object.fail("'replay' must be a JSON object or null");
    json whole = replay;
    whole["outcome"] = json_of(record.outcome);
    record.replay = replay_answer_from_json(whole.dump());
  }
  if (const auto seconds = read_optional(object, "without_what_ifs_s")) {
    record.uniform = Seconds{*seconds};
  }
}

}  // namespace

std::string to_json(const Record& record) {
  json object{
      {"format", format},
      {"key", record.key},
      {"fidelity", name(record.fidelity)},
      {"devices", record.devices()},
      {"point", json_of(record.point)},
      {"outcome", json_of(record.outcome)},
      {"memory_B", record.memory.value},
      {"memory_by_role_B", json_of_roles(record)},
      {"executed_flop_per_device", record.executed.value},
      {"sent_B_per_device", json_by_channel(record.outcome.channels, record.sent)},
      {"model_flop", record.model_flops.value},
      {"model_flop_convention", model_flops_convention(record.point.model, record.point.options)},
      {"empirical_peak_flop_per_s", record.empirical_peak.value},
      {"platform_title", record.platform_title},
      {"platform_digest", record.platform_digest},
      {"provenance", json_of(record.provenance)}};
  if (record.measured) {
    object["measured"] = json_of(*record.measured, record);
  } else {
    object["estimated_s"] = record.estimated.value;
    object["memory_limit_B"] = record.memory_limit.value;
    if (record.chance_to_fit) {
      object["chance_to_fit"] = *record.chance_to_fit;
      object["fits"] = fits_in_words(*record.chance_to_fit);
    }
    object["advertised_peak_flop_per_s"] = record.advertised_peak.value;
    object["search"] = json_of_search(record);
    object["replay"] = json_of_replay(record.replay);
    object["without_what_ifs_s"] = json_of(record.uniform);
  }
  if (!record.software.empty()) {
    object["software"] = {{"name", record.software}, {"set_by", record.software_by}};
  }
  if (!record.memory_by_stage.empty()) {
    json& stages = object["memory_by_stage_B"] = json::array();
    for (Bytes bytes : record.memory_by_stage) stages.push_back(bytes.value);
  }
  if (record.memory_on_host.value > 0) object["memory_on_host_B"] = record.memory_on_host.value;
  object["throughput"] = json_of(record.throughput());
  if (record.varies) {
    object["varies"] = {{"for_slowest_device_s", record.varies->for_slowest.value},
                        {"for_last_member_s", record.varies->for_last.value},
                        {"p90_over_p50", record.varies->p90},
                        {"p99_over_p50", record.varies->p99}};
  }
  if (record.bar) object["error_bar"] = json_of(*record.bar, record.seconds());
  if (!record.system.empty()) {
    object["system"] = {{"name", record.system}, {"set_by", record.set_by}};
  }
  return object.dump();
}

Record record_from_json(const std::string& text) {
  const json value = parse_json(text, "the record");
  JsonObject object(value, "record");
  if (const std::string other = object.text("format"); other != format) {
    throw OtherFormat("record: format '" + other + "' is not " + format);
  }
  Record record;
  record.key = object.text("key");
  record.fidelity = fidelity_named(object.text("fidelity"));
  object.positive("devices");
  record.point = read_point(object.object("point"));
  record.outcome = read_outcome(object.object("outcome"));
  record.memory = {object.number("memory_B")};
  if (object.has("memory_on_host_B")) {
    record.memory_on_host = {object.number("memory_on_host_B")};
  }
  if (object.has("memory_by_stage_B")) {
    for (const json& bytes : object.get("memory_by_stage_B")) {
      record.memory_by_stage.push_back({bytes.get<double>()});
    }
  }
  read_roles(object.object("memory_by_role_B"), record);
  record.executed = {object.number("executed_flop_per_device")};
  record.sent = read_by_channel<Bytes>(object.object("sent_B_per_device"), record.outcome.channels);
  record.model_flops = {object.number("model_flop")};
  object.text("model_flop_convention");
  record.empirical_peak = {object.number("empirical_peak_flop_per_s")};
  if (record.fidelity == Fidelity::measured) {
    record.measured = read_measured(object.object("measured"));
    record.advertised_peak = record.empirical_peak;
  } else {
    read_projection(object, record);
  }
  object.has("throughput");  // follows from the rest
  // So does what `project` adds.
  for (const char* added :
       {"memory", "what_if", "run", "needed", "chosen_flags", "granted", "without_effect"}) {
    object.has(added);
  }
  if (object.has("error_bar")) record.bar = read_error_bar(object.get("error_bar"));
  if (object.has("varies")) {
    JsonObject varies = object.object("varies");
    record.varies = StepSpread{{varies.number("for_slowest_device_s")},
                               {varies.number("for_last_member_s")},
                               varies.number("p90_over_p50"),
                               varies.number("p99_over_p50")};
    varies.finish();
  }
  if (object.has("software")) {
    JsonObject software = object.object("software");
    record.software = software.text("name");
    record.software_by = software.text("set_by");
    software.finish();
  }
  if (object.has("system")) read_system_of(object.object("system"), record);
  record.platform_title = object.text("platform_title");
  record.platform_digest = object.text("platform_digest");
  record.provenance = read_provenance(object.object("provenance"));
  object.finish();
  return record;
}

}  // namespace fourfold::inline scaling::inline records
