// Questions as points and as JSON; see question.hpp.
#include "scaling/records/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "schedule/models/model_file.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "sim/cost/paper_model.hpp"
#include "sim/question/point_json.hpp"
#include "support/divisors.hpp"
#include "support/nearest_name.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline records {

const char* name(Fidelity fidelity) {
  constexpr const char* names[]{"estimated", "simulated", "full", "s4u", "s4u-step", "measured"};
  return names[static_cast<int>(fidelity)];
}

Fidelity fidelity_named(const std::string& word) {
  std::vector<std::string> known;
  for (Fidelity fidelity : {Fidelity::estimated, Fidelity::simulated, Fidelity::full, Fidelity::s4u,
                            Fidelity::s4u_step, Fidelity::measured}) {
    if (word == name(fidelity)) return fidelity;
    known.emplace_back(name(fidelity));
  }
  throw std::runtime_error("unknown fidelity '" + word + "'" + one_of_these(word, known));
}

Fidelity projected_fidelity_named(const std::string& word) {
  const Fidelity fidelity = fidelity_named(word);
  if (fidelity != Fidelity::measured) return fidelity;
  throw std::runtime_error(
      "only points of a campaign are measured (fidelity = \"measured\" in its file); `fourfold "
      "train` trains one model");
}

const char* name(GridsBy grids_by) {
  constexpr const char* names[]{"estimate", "sc24-model"};
  return names[static_cast<int>(grids_by)];
}

Model model_with(const std::string& name_or_path, const FieldValues& instead) {
  Model model = read_model(name_or_path);
  model_fields().set(model, instead);
  if (const std::string why = excess(model); !why.empty()) throw std::runtime_error(why);
  return model;
}

std::int64_t sequences_in(std::int64_t batch_tokens, const Model& model) {
  if (batch_tokens > most_batch_tokens) {
    throw std::runtime_error(
        fmt::format("a batch of {} tokens is too large: at most {} tokens are counted, so that 64 "
                    "bits hold every byte of a step",
                    batch_tokens, most_batch_tokens));
  }
  const std::int64_t nearest =
      std::max<std::int64_t>((batch_tokens + model.sequence / 2) / model.sequence, 1);
  if (batch_tokens < 1 || batch_tokens % model.sequence != 0) {
    throw std::runtime_error(
        fmt::format("a batch of {} tokens is no whole number of sequences of {} tokens of {}; {} "
                    "tokens are {}",
                    batch_tokens, model.sequence, model.name, nearest * model.sequence,
                    counted(nearest, "sequence")));
  }
  return batch_tokens / model.sequence;
}

Question uniform(const Question& question) {
  Question result = question;
  result.what_ifs = {};
  result.what_ifs.collective = question.what_ifs.collective;
  return result;
}

Point point_of(const Question& question, const ProcessGrid& grid, std::int64_t micro_batches) {
  Point point{question.platform,     question.scales,  question.software, question.model, grid,
              question.global_batch, question.options, question.what_ifs};
  point.options.micro_batches = micro_batches;
  return point;
}

namespace {

constexpr const char* of_the_machine = "machine";  // a system's word for the machine's default

// The choices of a system in this phase. Those that train no otherwise are one where nothing
// trains.
std::vector<StepOptions> in_phase(std::vector<StepOptions> choices, Phase phase) {
  std::vector<StepOptions> found, seen;
  for (StepOptions& one : choices) {
    one.phase = phase;
    seen.push_back(one.trains() ? one : forward_alone(one));
    if (std::ranges::count(seen, seen.back()) == 1) found.push_back(std::move(one));
  }
  return found;
}

}  // namespace

void ask_of_software(Question& question, const std::string& software, const std::string& chosen_by,
                     const FieldValues& typed) {
  if (!software.empty() && question.software.empty()) {
    question.software = software;
    question.software_by = chosen_by;
  }
  const Platform platform = read_platform(question.platform, question.scales, question.software);
  if (platform.software.attention != AttentionSoftware::unfused || typed.contains("attention")) {
    return;
  }
  const bool of_system = question.system && question.system->rule("attention") != nullptr;
  if (of_system) return;
  question.options.attention = AttentionKernel::unfused;
  for (StepOptions& options : question.variants) options.attention = AttentionKernel::unfused;
  if (question.system) question.set_by["attention"] = "software";
}

void ask_of_system(Question& question, const System& system, const TypedOptions& typed,
                   const Platform& platform) {
  const std::int64_t node_devices = platform.node.devices;
  question.system = system;
  question.variants = in_phase(variants(system, typed.values), question.options.phase);
  question.options = question.variants.front();
  question.set_by = set_by(system, typed.values, typed.typist);
  ask_of_software(question, system.software == of_the_machine ? "" : system.software, "system",
                  typed.values);
  if (question.grid) {
    const std::string why =
        forbidden(system, *question.grid, question.options.rank_order, node_devices);
    if (!why.empty()) throw std::runtime_error(why);
    return;
  }
  if (!question.stages.empty()) return;
  question.stages = {1};
  if (system.rule(Axis::pipe).searched == AxisExtents::one) return;
  question.stages.clear();
  std::ranges::copy_if(divisors(question.devices), std::back_inserter(question.stages),
                       [&](std::int64_t count) { return count <= question.model.layers; });
}

void ask_for_grids_by(Question& question, const std::string& word) {
  if (word == name(GridsBy::estimate)) return;
  if (word != name(GridsBy::sc24_model)) {
    throw std::runtime_error(
        fmt::format("grids are chosen by estimate or by sc24-model, not by '{}'", word));
  }
  if (question.grid) return;
  const Platform platform = read_platform(question.platform, question.scales, question.software);
  if (!codes_machine(platform.name)) {
    throw std::runtime_error(fmt::format(
        "grids cannot be chosen by sc24-model on {}: its authors' scripts have bandwidths of "
        "perlmutter and frontier alone",
        platform.name));
  }
  if (!question.options.rank_order.as_numbered()) {
    throw std::runtime_error(
        "grids by sc24-model bring the order of their ranks: leave the rank order out");
  }
  question.grids_by = GridsBy::sc24_model;
  question.options.rank_order = coded_rank_order();
  for (StepOptions& options : question.variants) options.rank_order = coded_rank_order();
  if (question.system) question.set_by["rank_order"] = word;
}

namespace {

nlohmann::json json_of_options(const StepOptions& options) {
  nlohmann::json object = json_of(options);
  object.erase("micro_batches");
  return object;
}

// What decides which configurations of a system are looked at.
nlohmann::json json_of_system(const Question& question) {
  nlohmann::json object{{"name", question.system->name}, {"software", question.system->software}};
  for (const AxisRule& rule : question.system->axes) {
    object["axes"][name(rule.axis)] = {name(rule.allowed), name(rule.searched)};
  }
  for (const StepOptions& options : question.variants) {
    object["variants"].push_back(json_of_options(options));
  }
  return object;
}

}  // namespace

nlohmann::json json_of(const Question& question) {
  nlohmann::json object{{"platform", question.platform},
                        {"scales", json_of_scales(question.scales)},
                        {"model", json_of(question.model)},
                        {"devices", question.devices},
                        {"global_batch_sequences", question.global_batch},
                        {"what_ifs", json_of(question.what_ifs)}};
  if (!question.software.empty()) object["software"] = question.software;
  if (!question.system) {
    for (const StepOptions& options : question.variants) {
      object["variants"].push_back(json_of_options(options));
    }
  }
  if (question.system) {
    object["system"] = json_of_system(question);
  } else {
    object["options"] = json_of_options(question.options);
  }
  if (question.stages != std::vector<std::int64_t>{1}) object["stages"] = question.stages;
  if (question.grids_by != GridsBy::estimate) object["grids_by"] = name(question.grids_by);
  if (question.grid) object["grid"] = question.grid->str();
  if (question.micro_batches) object["micro_batches"] = *question.micro_batches;
  if (question.most_at_once) object["most_sequences_at_once"] = *question.most_at_once;
  if (question.memory_risk) object["memory_risk"] = *question.memory_risk;
  return object;
}

}  // namespace fourfold::inline scaling::inline records
