// Keys end in their unit, shares have none; see error_bar_json.hpp.
#include "scaling/bars/error_bar_json.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/json_object.hpp"

namespace fourfold::inline scaling::inline bars {

nlohmann::json json_of(const ErrorBar& bar, Seconds projected) {
  return {{"level", error_bar_level},
          {"low_s", projected.value * (1.0 + bar.low)},
          {"high_s", projected.value * (1.0 + bar.high)},
          {"low", bar.low},
          {"high", bar.high},
          {"like", bar.like},
          {"runs", bar.runs},
          {"sources", bar.sources},
          {"runs_least", bar.runs_least},
          {"runs_most", bar.runs_most},
          {"widened_by", bar.widened_by},
          {"tie_below", bar.tie},
          {"pairs", bar.pairs}};
}

ErrorBar read_error_bar(const nlohmann::json& value) {
  JsonObject object(value, "'error_bar'");
  for (const char* follows : {"level", "low_s", "high_s"}) object.number(follows);
  ErrorBar bar;
  bar.low = object.number("low");
  bar.high = object.number("high");
  bar.like = object.text("like");
  bar.runs = object.integer("runs");
  bar.sources = object.integer("sources");
  bar.runs_least = object.number("runs_least");
  bar.runs_most = object.number("runs_most");
  for (const nlohmann::json& key : object.get("widened_by")) {
    if (!key.is_string()) throw std::runtime_error("'widened_by' must be a list of words");
    bar.widened_by.push_back(key.get<std::string>());
  }
  bar.tie = object.number("tie_below");
  bar.pairs = object.integer("pairs");
  object.finish();
  return bar;
}

}  // namespace fourfold::inline scaling::inline bars
