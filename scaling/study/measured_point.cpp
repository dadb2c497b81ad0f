// Trains through scaling/calibrate/here_runs.hpp and makes records of it; see measured_point.hpp.
#include "scaling/study/measured_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "platforms/platform.hpp"
#include "scaling/calibrate/calibration.hpp"
#include "scaling/calibrate/here_runs.hpp"
#include "scaling/calibrate/measured_file.hpp"
#include "scaling/jobs/launch.hpp"
#include "schedule/fold/count.hpp"
#include "schedule/fold/memory.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/models/model_flops.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "support/json_object.hpp"
#include "support/json_text.hpp"
#include "support/scratch_folder.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

// Taken away whatever ends the training.
class Scratch {
 public:
  explicit Scratch(std::string folder) : folder_(std::move(folder)) {}
  ~Scratch() { remove_scratch_folder(folder_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

 private:
  std::string folder_;
};

// As the schedule counts them, of the stage that needs most memory; sent bytes of the first.
void add_counts(Record& record) {
  const Point& point = record.point;
  const std::vector<Folded> stages = folded_stages(
      point.model, in_effect(point.options, point.grid), point.grid.extent(Axis::pipe));
  std::vector<Counts> counts;
  for (const Folded& folded : stages) {
    LocalSizes sizes;
    sizes.evaluate(folded, point.grid,
                   {point.global_batch * point.model.sequence / point.options.micro_batches});
    counts.push_back(count(folded, sizes, point.grid));
    const MemoryUse use = peak_memory(folded, sizes, point.grid);
    if (stages.size() > 1) record.memory_by_stage.push_back(use.peak);
    record.memory_on_host = std::max(record.memory_on_host, use.on_host);
    if (use.peak < record.memory) continue;
    record.memory = use.peak;
    record.memory_by_role = use.by_role;
  }
  const Counts all = mean(counts);
  record.executed = all.executed();
  record.sent.assign(all.sent.begin(), all.sent.end());
  record.outcome = Outcome(all.channels);
  record.model_flops =
      model_flops(point.model, point.global_batch, point.options, point.grid.extent(Axis::pipe));
}

void add_times(Record& record, const HereStep& step) {
  record.outcome.total = {step.median};
  record.outcome.compute = {std::max(step.median - step.exposed, 0.0)};
  for (std::size_t c = 0; c < record.outcome.channels.size(); ++c) {
    const auto waits = step.exposed_by.find(name(record.outcome.channels[c]));
    if (waits != step.exposed_by.end()) record.outcome.exposed[c] = {waits->second};
  }
}

}  // namespace

MeasureRule read_measure(JsonObject object, const std::string& path) {
  object.allow_only({"steps", "transport", "data"});
  MeasureRule rule;
  if (object.has("steps")) rule.steps = positive_up_to(object, "steps", most_of_anything);
  if (rule.steps <= settling_steps) {
    object.fail(fmt::format("'steps' must be at least {}: the first {} do not count",
                            settling_steps + 1, settling_steps));
  }
  if (object.has("transport")) {
    rule.transport = object.one_of("transport", {"ring", "library", "window", "auto"});
  }
  if (object.has("data")) {
    rule.data = (std::filesystem::path(path).parent_path() / object.text("data")).string();
    if (!std::filesystem::is_regular_file(rule.data)) object.fail("there is no file " + rule.data);
  }
  return rule;
}

const std::string& digest_of_engine() {
  static const std::string once = digest_of_large_file(beside_this_executable("fourfold-engine"));
  return once;
}

std::string measured_key(const Question& question, const MeasureRule& rule, std::uint64_t seed,
                         const std::string& engine) {
  return digest(nlohmann::json{
      {"question", json_of(question)},
      {"fidelity", name(Fidelity::measured)},
      {"steps", rule.steps},
      {"transport", rule.transport},
      {"data", rule.data.empty() ? "" : digest_of_large_file(rule.data)},
      {"seed", seed},
      {"engine",
       engine}}.dump());
}

Record measured_record(const Question& question, const ProcessGrid& grid,
                       std::int64_t micro_batches, const Training& training) {
  Record record;
  record.key = measured_key(question, training.rule, training.seed, digest_of_engine());
  record.fidelity = Fidelity::measured;
  record.point = point_of(question, grid, micro_batches);
  add_counts(record);
  HereRun run;
  run.model = question.model;
  run.grid = grid;
  run.batch = question.global_batch;
  run.options = record.point.options;
  run.steps = training.rule.steps;
  run.seed = training.seed;
  run.launch = training.launch;
  run.data = training.rule.data;
  const Scratch scratch(training.folder);
  const HereStep step = train_here(run, training.rule.transport, training.folder);
  add_times(record, step);
  const double peak = step.header.at("peak_flop_per_s");
  record.empirical_peak = {peak / static_cast<double>(grid.size())};
  record.advertised_peak = record.empirical_peak;
  record.measured = MeasuredStep{{step.low},
                                 {step.high},
                                 step.steps,
                                 training.seed,
                                 training.rule.transport,
                                 step.header.at("cpu"),
                                 step.header.at("libraries"),
                                 {},
                                 step.reference,
                                 step.foreign_cores};
  for (KernelGroup i = 0; i < kernel_groups; ++i) {
    record.measured->kernels_s[group_key(i)] = step.kernels.at(i);
  }
  record.tried = record.feasible = 1;
  record.platform_title = step.header.at("cpu");
  record.provenance = provenance_now();
  record.provenance.executables = digest_of_engine();
  record.provenance.seed = static_cast<std::int64_t>(training.seed);
  return record;
}

std::string twin_refusal(const Question& question) {
  if (!is_calibrated(question.platform)) return "";
  const Platform platform = read_platform(question.platform, {}, question.software);
  if (question.devices <= platform.devices()) return "";
  const bool here = question.platform == here_platform;
  return here ? fmt::format("more than two ranks a core ({})", platform.devices())
              : fmt::format("{} has {} devices", platform.name, platform.devices());
}

std::optional<double> calibrated_reference(const std::string& platform, const std::string& cpu) {
  const std::filesystem::path path(platform);
  if (path.extension() != ".toml") return std::nullopt;
  const std::string beside =
      (path.parent_path() / (path.stem().string() + ".measured.jsonl")).string();
  if (!std::filesystem::is_regular_file(beside)) return std::nullopt;
  const std::string rank_of_it = cpu.substr(0, cpu.rfind(", ")) + ", a rank";
  if (read_platform(platform).processor.name != rank_of_it) return std::nullopt;
  return reference_seconds(read_measured(beside), cores_of_this_machine());
}

std::vector<std::string> launch_words(const std::string& text, std::int64_t ranks) {
  constexpr const char* mark = "{ranks}";
  std::vector<std::string> words;
  bool said = false;
  std::istringstream stream(text);
  for (std::string word; stream >> word; words.push_back(word)) {
    for (std::size_t at = 0; (at = word.find(mark)) != std::string::npos; said = true) {
      word.replace(at, std::string(mark).size(), std::to_string(ranks));
    }
  }
  if (!said) {
    throw std::runtime_error("--launch '" + text +
                             "' does not say how many ranks: srun --ntasks={ranks}");
  }
  return words;
}

}  // namespace fourfold::inline scaling::inline study
