// Compares points that share a question or a name; see point_names.hpp.
#include "scaling/study/point_names.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/study/figure.hpp"
#include "scaling/study/study.hpp"
#include "scaling/study/sweep.hpp"
#include "scaling/words/machine_name.hpp"
#include "sim/question/point_json.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

using nlohmann::json;

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

// A machine may have a vocabulary and a sequence of its own, which tables state.
json of_model(const Model& model) {
  json rest = json_of(model);
  rest.erase("vocabulary");
  rest.erase("sequence");
  return rest;
}

}  // namespace

void PointNames::refuse_other(const std::string& name, const Named& now, Known& known) {
  const auto [first, is_new] = known.emplace(name, now);
  if (is_new) return;
  for (const auto& [key, value] : now.rest.items()) {
    const json& before = first->second.rest;
    if (before.contains(key) && before.at(key) == value) continue;
    throw std::runtime_error(fmt::format(
        "points {} and {} are both called {}, but their '{}' differ: tell them apart with a label, "
        "of the point or of the machine",
        first->second.number, now.number, name, key));
  }
}

void PointNames::add(const Question& question, const PointTag& tag) {
  ++number_;
  // Repetitions have a seed of their own, or are measured and ask the same.
  const std::int64_t repetition = question.what_ifs.needs_seed() ? 1 : tag.repetition;
  const std::string asked = fmt::format("{} {}", json_of(question).dump(), repetition);
  const auto [first, is_new] = number_of_.emplace(asked, number_);
  if (!is_new) {
    throw std::runtime_error(fmt::format(
        "points {} and {} are the same: {} on {} devices of {}; leave one of them out",
        first->second, number_, question.model.name, question.devices, question.platform));
  }
  const std::string value = tag.value ? fmt::format("{:g}", *tag.value) : "";
  // Tables of systems tell given grids from the best ones.
  const std::string system =
      question.system ? question.system->name + (question.grid ? " (given)" : "") : "";
  // As figures write it: what they cannot tell apart is alike.
  const std::string label = csv_cell(joined(joined(system, tag.label), value));
  refuse_other(csv_cell(joined(joined(question.model.name, tag.label), value)),
               {number_, of_model(question.model)}, models_);
  const std::string where = joined(machine_name(question.platform), label);
  const std::string curve = fmt::format("{} on {}", question.model.name, where);
  refuse_other(curve, {number_, of_curve(question)}, curves_);
  const std::string grid = question.grid ? ", grid " + question.grid->str() : "";
  const std::string micro_batches =
      question.micro_batches ? fmt::format(" of {} micro-batches", *question.micro_batches) : "";
  refuse_other(fmt::format("{} on {} devices of {}{}{}", question.model.name, question.devices,
                           where, grid, micro_batches),
               {number_, of_point(question)}, points_);
}

}  // namespace fourfold::inline scaling::inline study
