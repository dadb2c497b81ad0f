// Outcomes and replay answers to JSON and back; see replay_answer.hpp and outcome_json.hpp.
#include "sim/question/replay_answer.hpp"

#include <stdexcept>

#include "sim/question/outcome_json.hpp"
#include "support/json_object.hpp"

namespace fourfold {
namespace {

using nlohmann::json;

Seconds read_seconds(JsonObject& object, const std::string& key) {
  const double seconds = object.number(key);
  if (seconds < 0.0) throw std::runtime_error("'" + key + "' is negative: no such time exists");
  return {seconds};
}

json json_of_lanes(const std::array<Seconds, lane_count>& seconds) {
  json object = json::object();
  for (Lane lane : all_lanes) object[name(lane)] = seconds[static_cast<int>(lane)].value;
  return object;
}

std::array<Seconds, lane_count> read_lanes(JsonObject object) {
  std::array<Seconds, lane_count> seconds;
  for (Lane lane : all_lanes) seconds[static_cast<int>(lane)] = read_seconds(object, name(lane));
  object.finish();
  return seconds;
}

}  // namespace

json json_of(const Outcome& outcome) {
  return {{"total_s", outcome.total.value},
          {"compute_s", outcome.compute.value},
          {"exposed_s", json_of_lanes(outcome.exposed)},
          {"busy_s", json_of_lanes(outcome.busy)}};
}

Outcome read_outcome(JsonObject object) {
  Outcome outcome;
  outcome.total = read_seconds(object, "total_s");
  outcome.compute = read_seconds(object, "compute_s");
  outcome.exposed = read_lanes(object.object("exposed_s"));
  outcome.busy = read_lanes(object.object("busy_s"));
  object.finish();
  return outcome;
}

std::string to_json(const ReplayAnswer& answer) {
  json object{{"outcome", json_of(answer.outcome)},
              {"extrapolated", answer.extrapolated},
              {"extrapolation_check", answer.extrapolation_check},
              {"collectives", answer.collectives},
              {"work", answer.work},
              {"cpu_s", answer.cpu_s},
              {"peak_rss_MiB", answer.peak_rss_MiB},
              {"simgrid", answer.simgrid}};
  if (answer.detail) object["detail"] = json_of(*answer.detail);
  return object.dump();
}

ReplayAnswer replay_answer_from_json(const std::string& text) {
  const json value = parse_json(text, "the answer of fourfold-replay");
  JsonObject object(value, "the answer of fourfold-replay");
  ReplayAnswer answer;
  answer.outcome = read_outcome(object.object("outcome"));
  answer.extrapolated = object.flag("extrapolated");
  answer.extrapolation_check = object.number("extrapolation_check");
  answer.collectives = object.integer("collectives");
  answer.work = object.integer("work");
  answer.cpu_s = object.number("cpu_s");
  answer.peak_rss_MiB = object.number("peak_rss_MiB");
  answer.simgrid = object.text("simgrid");
  if (object.has("detail")) answer.detail = read_detail(object.object("detail"));
  object.finish();
  return answer;
}

}  // namespace fourfold
