// Compares points that share a name; see unlike_points.hpp.
#include "scaling/study/unlike_points.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/study/study.hpp"
#include "scaling/study/sweep.hpp"

namespace fourfold {
namespace {

using nlohmann::json;

// A point, and what tells it from the other points of its name.
struct Named {
  std::size_t index = 0;
  json rest;
};

// Without what tables and figures show of each point: a system is shown with its options, and seeds
// are those of repetitions.
json of_point(const Question& question) {
  json rest = json_of(question);
  for (const char* shown : {"devices", "grid", "micro_batches", "system"}) rest.erase(shown);
  rest.at("what_ifs").erase("seed");
  return rest;
}

// Points of a curve are on other devices of the same machine, with the same model.
json of_curve(const Question& question) {
  const json rest = of_point(question);
  return {{"platform", rest.at("platform")},
          {"scales", rest.at("scales")},
          {"model", rest.at("model")}};
}

void refuse_other(const std::string& name, const Named& now, std::map<std::string, Named>& known) {
  const auto [first, is_new] = known.emplace(name, now);
  if (is_new) return;
  for (const auto& [key, value] : now.rest.items()) {
    const json& before = first->second.rest;
    if (before.contains(key) && before.at(key) == value) continue;
    throw std::runtime_error(fmt::format(
        "points {} and {} are both called {}, but their '{}' differ: tell them apart with a label, "
        "of the point or of the machine",
        first->second.index + 1, now.index + 1, name, key));
  }
}

}  // namespace

void refuse_unlike(const Campaign& campaign) {
  std::map<std::string, Named> curves, points;
  for (std::size_t i = 0; i < campaign.questions.size(); ++i) {
    const Question& question = campaign.questions[i];
    const PointTag& tag = campaign.tags[i];
    const std::string value = tag.value ? fmt::format("{:g}", *tag.value) : "";
    // Tables of systems tell given grids from the best ones.
    const std::string system =
        question.system ? question.system->name + (question.grid ? " (given)" : "") : "";
    const std::string label = joined(joined(system, tag.label), value);
    const std::string where = joined(machine_name(question.platform), label);
    const std::string curve = fmt::format("{} on {}", question.model.name, where);
    refuse_other(curve, {i, of_curve(question)}, curves);
    const std::string grid = question.grid ? ", grid " + question.grid->str() : "";
    const std::string micro_batches =
        question.micro_batches ? fmt::format(" of {} micro-batches", *question.micro_batches) : "";
    refuse_other(fmt::format("{} on {} devices of {}{}{}", question.model.name, question.devices,
                             where, grid, micro_batches),
                 {i, of_point(question)}, points);
  }
}

}  // namespace fourfold
