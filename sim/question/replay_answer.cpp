// Outcomes and replay answers to JSON and back; see replay_answer.hpp and outcome_json.hpp.
#include "sim/question/replay_answer.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/question/channel_json.hpp"
#include "sim/question/outcome_json.hpp"
#include "support/json_object.hpp"

namespace fourfold::inline sim::inline question {
namespace {

using nlohmann::json;

void refuse_negative(Seconds time, const std::string& key) {
  if (time.value < 0.0) throw std::runtime_error("'" + key + "' is negative: no such time exists");
}

Seconds read_seconds(JsonObject& object, const std::string& key) {
  const Seconds time{object.number(key)};
  refuse_negative(time, key);
  return time;
}

std::vector<Seconds> read_channels(JsonObject& object, const std::string& key,
                                   const std::vector<Channel>& channels) {
  std::vector<Seconds> times = read_by_channel<Seconds>(object.object(key), channels);
  for (std::size_t c = 0; c < channels.size(); ++c) refuse_negative(times[c], name(channels[c]));
  return times;
}

}  // namespace

json json_of(const Outcome& outcome) {
  json object{{"total_s", outcome.total.value},
              {"compute_s", outcome.compute.value},
              {"exposed_s", json_by_channel(outcome.channels, outcome.exposed)},
              {"busy_s", json_by_channel(outcome.channels, outcome.busy)}};
  if (outcome.bubble.value > 0) object["bubble_s"] = outcome.bubble.value;
  return object;
}

Outcome read_outcome(JsonObject object) {
  Outcome outcome;
  outcome.total = read_seconds(object, "total_s");
  outcome.compute = read_seconds(object, "compute_s");
  outcome.channels = channels_in(object.get("exposed_s"));
  outcome.exposed = read_channels(object, "exposed_s", outcome.channels);
  outcome.busy = read_channels(object, "busy_s", outcome.channels);
  if (object.has("bubble_s")) outcome.bubble = read_seconds(object, "bubble_s");
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
  if (answer.detail) object["detail"] = json_of(*answer.detail, answer.outcome.channels);
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
  if (object.has("detail")) {
    answer.detail = read_detail(object.object("detail"), answer.outcome.channels);
  }
  object.finish();
  return answer;
}

}  // namespace fourfold::inline sim::inline question
