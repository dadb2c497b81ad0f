// Which runs, how they are started, and their logs; see here_runs.hpp.
#include "scaling/calibrate/here_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/bars/deviations.hpp"
#include "scaling/jobs/launch.hpp"
#include "schedule/models/model_template.hpp"
#include "support/field.hpp"
#include "support/foreign_load.hpp"
#include "support/json_object.hpp"
#include "support/json_text.hpp"
#include "support/own_file.hpp"
#include "support/processor_name.hpp"
#include "support/scratch_folder.hpp"
#include "support/text_file.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

constexpr auto settling = static_cast<std::size_t>(settling_steps);

// By Work.

// As `fourfold train` has them.
StepOptions usual_options(const ProcessGrid& grid) {
  constexpr std::int64_t pipelined = 4;
  StepOptions options;
  options.precision = Precision::fp32;
  options.recompute = Recompute::none;
  if (grid.extent(Axis::pipe) > 1) options.micro_batches = pipelined;
  return options;
}

std::string key_of(const HereRun& run, const std::string& transport) {
  nlohmann::json key{{"model",
                      {run.model.name, run.model.layers, run.model.hidden, run.model.heads,
                       run.model.sequence, run.model.vocabulary}},
                     {"grid", run.grid.str()},
                     {"batch", run.batch},
                     {"micro_batches", run.options.micro_batches},
                     {"transport", transport},
                     {"processor", recorded_processor()}};
  if (!block_shape(run.model).empty()) key["block"] = model_file_text(run.model);
  return key.dump();
}

std::string model_file(const Model& model, const std::string& folder) {
  const std::string path = folder + "/" + model.name + ".toml";
  write_own_file(path, model_file_text(model));
  return path;
}

nlohmann::json json_of(const HereStep& step) {
  return {{"median", step.median},       {"low", step.low},
          {"high", step.high},           {"steps", step.steps},
          {"kernels", step.kernels},     {"exposed", step.exposed},
          {"reference", step.reference}, {"foreign_cores", step.foreign_cores}};
}

HereStep step_of(const nlohmann::json& object) {
  return {object.at("median"),    object.at("low"),          object.at("high"),
          object.at("steps"),     object.at("kernels"),      object.at("exposed"),
          object.at("reference"), object.at("foreign_cores")};
}

double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

}  // namespace

std::vector<HereRun> here_runs() {
  struct Trained {
    Model model;
    std::int64_t batch, steps;
  };
  // Wide, deep, and the GPT that engines are compared on.
  const std::vector<Trained> trained{{{"wide", 3, 512, 8, 128, 2048}, 8, 11},
                                     {{"deep", 8, 256, 8, 256, 1024}, 4, 11},
                                     {{"gpt2-mini", 6, 384, 6, 256, 8192}, 4, 11}};
  std::vector<HereRun> runs;
  for (const Trained& one : trained) {
    for (const char* grid : {"1x1x1x1", "2x1x1x1", "1x2x1x1", "1x1x2x1", "1x1x1x2", "pipe=2",
                             "2x2x1x1", "1x1x2x2", "2x1x1x2", "1x1x1x4"}) {
      const ProcessGrid parsed = ProcessGrid::parse(grid);
      runs.push_back({one.model, parsed, one.batch, usual_options(parsed), one.steps});
    }
  }
  return runs;
}

HereStep step_of_log(const std::string& path) {
  std::vector<double> seconds, exposed, references;
  std::array<std::vector<double>, kernel_groups> kernels;
  std::map<std::string, std::vector<double>> exposed_by;
  nlohmann::json header;
  for (const TextLine& line : read_lines(path, "the log")) {
    const nlohmann::json object = parse_json(line.text, path);
    if (object.at("kind") == "run") header = object;
    if (object.at("kind") != "step") continue;
    seconds.push_back(object.at("seconds"));
    references.push_back(object.at("reference_s"));
    double waits = 0.0;
    for (const auto& [channel, value] : object.at("exposed_s").items()) {
      waits += value.get<double>();
      exposed_by[channel].push_back(value);
    }
    exposed.push_back(waits);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      kernels.at(i).push_back(object.at("kernels_s").at(group_key(i)));
    }
  }
  if (seconds.size() <= settling) {
    throw std::runtime_error(fmt::format("{} has {} steps, but the first {} do not count", path,
                                         seconds.size(), settling));
  }
  const auto later = [](std::vector<double> values) {
    values.erase(values.begin(), values.begin() + settling);
    return values;
  };
  seconds = later(seconds);
  HereStep step{median(seconds),
                quantile(seconds, 0.25),
                quantile(seconds, 0.75),
                std::ssize(seconds),
                {},
                median(later(exposed)),
                median(later(references)),
                0.0,
                header,
                {}};
  for (const auto& [channel, values] : exposed_by) {
    step.exposed_by[channel] = median(later(values));
  }
  for (std::size_t i = 0; i < kernels.size(); ++i)
    step.kernels.at(i) = median(later(kernels.at(i)));
  return step;
}

namespace {

// As `fourfold train` takes them, which has other defaults than campaigns, and refuses what has no
// effect: only what is not its default is said.
std::vector<std::string> train_words(const HereRun& run, const std::string& transport,
                                     const std::string& folder) {
  std::vector<std::string> words{"--model=" + model_file(run.model, folder),
                                 "--grid=" + run.grid.str(),
                                 fmt::format("--batch={}", run.batch),
                                 fmt::format("--steps={}", run.steps),
                                 fmt::format("--seed={}", run.seed),
                                 "--transport=" + transport,
                                 "--tokens=0",
                                 "--validate-every=0",
                                 "--validation-words=1024",
                                 "--folder=" + folder + "/run",
                                 "--time-reference"};
  if (!run.data.empty()) words.push_back("--data=" + run.data);
  StepOptions usual;
  usual.precision = Precision::fp32;
  usual.recompute = Recompute::none;
  for (const std::string& flag : flags_of(step_fields().facts())) {
    const std::string word = step_fields().word(run.options, flag);
    const bool is_usual = word == step_fields().word(usual, flag) && flag != "--micro-batches";
    if (!is_usual) words.push_back(flag + '=' + word);
  }
  return words;
}

HereStep train_once(const HereRun& run, const std::string& transport, const std::string& folder) {
  make_scratch_folder(folder);
  Job job;
  job.command = run.launch;
  job.command.push_back(
      beside_this_executable(run.launch.empty() ? "fourfold" : "fourfold-engine"));
  job.command.emplace_back("train");
  for (const std::string& word : train_words(run, transport, folder)) job.command.push_back(word);
  const ForeignLoad load;
  const JobResult result = run_side_by_side({job}).front();
  if (result.status != 0) {
    throw std::runtime_error(
        fmt::format("training {} {}: {}", run.id(), ending_text(result), result.complaint));
  }
  HereStep step = step_of_log(folder + "/run/log.jsonl");
  step.foreign_cores = load.cores();
  remove_scratch_folder(folder);
  return step;
}

}  // namespace

HereStep train_here(const HereRun& run, const std::string& transport, const std::string& folder) {
  constexpr int most_times = 2;
  constexpr double disturbing = 0.25;
  HereStep best = train_once(run, transport, folder);
  for (int time = 1; time < most_times && best.foreign_cores > disturbing; ++time) {
    const HereStep again = train_once(run, transport, folder);
    if (again.foreign_cores < best.foreign_cores) best = again;
  }
  return best;
}

HereStore::HereStore(std::string path) : path_(std::move(path)) {
  bool ended = true;  // the last line, which may have been cut off
  for (const TextLine& line : read_own_lines(path_, "the measured steps in")) {
    ended = line.ended;
    const auto object = json_in(line.text);
    if (!object) continue;
    try {
      rows_.push_back({json_text(object->at("run")), step_of(object->at("step"))});
    } catch (const nlohmann::json::exception&) {
      throw std::runtime_error(
          fmt::format("{}, line {}: this is no measured step", path_, line.number));
    }
  }
  if (!ended) append_own_line(path_, "");
}

HereStep HereStore::step(const HereRun& run, const std::string& transport,
                         const std::function<HereStep()>& measure) {
  const std::string key = key_of(run, transport);
  const auto known = std::ranges::find(rows_, key, &Row::key);
  if (known != rows_.end()) return known->step;
  rows_.push_back({key, measure()});
  const nlohmann::json line{{"run", parse_json(key, path_)}, {"step", json_of(rows_.back().step)}};
  append_own_line(path_, line.dump());
  return rows_.back().step;
}

}  // namespace fourfold::inline scaling::inline calibrate
