// Counts of the schedule and facts of the machine as text; see run_header.hpp.
#include "engine/train/run/run_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numbers>
#include <thread>

#include "schedule/fold/fold.hpp"
#include "schedule/fold/memory.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/models/model_flops.hpp"
#include "schedule/models/parameter_count.hpp"
#include "support/field_json.hpp"
#include "support/processor_name.hpp"
#include "support/prose.hpp"
#include "support/visible_text.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

constexpr double mega = 1e6;

// A device of one stage's.
struct Counted {
  Counts counts;
  MemoryUse memory;
};

std::vector<Counted> counted(const TrainSettings& settings) {
  std::vector<Counted> stages;
  for (const Folded& folded : folded_stages(settings.model, options_in_effect(settings),
                                            settings.grid.extent(Axis::pipe))) {
    LocalSizes sizes;
    sizes.evaluate(folded, settings.grid,
                   {settings.batch * settings.model.sequence / settings.options.micro_batches});
    stages.push_back(
        {count(folded, sizes, settings.grid), peak_memory(folded, sizes, settings.grid)});
  }
  return stages;
}

// "2x1x1x2 (x, y, z, data)", "x=2,pipe=2, order 1f1b, ZeRO 1".
std::string grid_text(const ProcessGrid& grid, const StepOptions& options) {
  std::string further;
  if (options.zero > 0) further += fmt::format(", ZeRO {}", options.zero);
  if (options.has_buckets()) {
    further += fmt::format(", along data in buckets of {}", options.data_bucket);
  }
  if (options.offloads()) {
    further += fmt::format(", optimizer on the host in buckets of {}", options.offload_bucket);
  }
  if (options.offloads_inputs()) further += ", inputs of blocks on the host";
  if (options.sequence_parallel) further += ", sequence parallel";
  if (options.cuts_messages()) further += ", messages cut";
  if (grid.extent(Axis::pipe) == 1) return grid.str() + " (x, y, z, data)" + further;
  if (options.pipeline_limit > 0) {
    further = fmt::format(", at most {} micro-batches in flight", options.pipeline_limit) + further;
  }
  return fmt::format("{}, order {}{}{}", grid.str(), name(options.order),
                     options.chunks == 1 ? "" : fmt::format(" of {} chunks", options.chunks),
                     further);
}

// "weights 7.3, optimizer 14.6, ..." in MB.
std::string by_role(const MemoryUse& memory) {
  std::string text;
  for (int role = 0; role < training_role_count; ++role) {
    const double bytes = memory.by_role[static_cast<std::size_t>(role)].value;
    if (bytes == 0.0) continue;
    text += fmt::format("{}{} {:.1f}", text.empty() ? "" : ", ", name(static_cast<Role>(role)),
                        bytes / mega);
  }
  return text;
}

std::string length_text(const RunLength& length) {
  std::string text;
  if (length.steps > 0) text = amount(length.steps, "step");
  if (length.minutes > 0.0) {
    text += fmt::format("{}{:g} minutes", text.empty() ? "" : " or ", length.minutes);
  }
  return text;
}

// Empty where all targets count.
std::string loss_text(const Goldfish& goldfish) {
  if (goldfish.k == 0) return "";
  return fmt::format("loss        Goldfish: 1 target of {} is left out, by the {} before it\n",
                     goldfish.k, amount(goldfish.h, "word"));
}

nlohmann::ordered_json json_of(const Goldfish& goldfish) {
  if (goldfish.k == 0) return nullptr;
  return {{"k", goldfish.k}, {"h", goldfish.h}};
}

std::string clipping_text(const AdamW& optimizer) {
  return optimizer.clip_norm > 0.0 ? fmt::format("clipping at {:g}", optimizer.clip_norm)
                                   : "no clipping";
}

// Empty where the first bad step ends the run.
std::string bad_steps_text(const TrainSettings& settings) {
  if (settings.bad_steps == BadSteps::stop) return "";
  return fmt::format("; bad steps: {}", name(settings.bad_steps));
}

std::string resume_text(const TrainSettings& settings, const RunFacts& facts) {
  if (!settings.start_from.empty())
    return "; starts from the weights of " + visible_line(settings.start_from);
  if (settings.resume.empty()) return "";
  const Trained before{.steps_before = facts.step,
                       .seconds_before = facts.trained_seconds,
                       .seconds_of_warm_up = facts.warm_up_seconds};
  return fmt::format(
      "; {} resumed after step {}, {:.0f} % done, the learning rate goes on at {:.2e}",
      visible_line(settings.resume), facts.step, 100.0 * settings.length.done(before),
      settings.learning_rate.at(settings.length, before));
}

}  // namespace

StepWork counted_work(const TrainSettings& settings) {
  const std::vector<Counted> stages = counted(settings);
  const auto ranks_of_a_stage =
      static_cast<double>(settings.grid.size()) / static_cast<double>(stages.size());
  StepWork work;
  work.tokens = settings.batch * settings.model.sequence;
  for (const Counted& stage : stages) work.executed += stage.counts.executed() * ranks_of_a_stage;
  work.model = model_flops(settings.model, settings.batch, settings.options,
                           settings.grid.extent(Axis::pipe));
  return work;
}

MemoryUse counted_memory(const TrainSettings& settings) {
  const std::vector<Counted> stages = counted(settings);
  return std::ranges::max(stages, {}, [](const Counted& stage) { return stage.memory.peak.value; })
      .memory;
}

std::string cpu_text() {
  return fmt::format("{}, {} cores", recorded_processor(), std::thread::hardware_concurrency());
}

std::string header_text(const TrainSettings& settings, const RunFacts& facts) {
  const Model& model = settings.model;
  const auto ranks = static_cast<double>(settings.grid.size());
  const StepOptions& options = settings.options;
  std::string text = fmt::format(
      "model       {}: {} layers, hidden {}, {} heads, sequence {}, vocabulary {}; {}{:.2f} "
      "million "
      "parameters\n",
      visible_line(model.name), model.layers, model.hidden, model.heads, model.sequence,
      model.vocabulary, block_shape(model).empty() ? "" : block_shape(model) + "; ",
      parameter_count(model) / mega);
  text += fmt::format("grid        {}: {} on {}\n", grid_text(settings.grid, options),
                      amount(settings.grid.size(), "rank"), facts.cpu);
  text += fmt::format(
      "step        {} sequences, {} tokens, {} micro-batch{}; {}; recompute {}; "
      "attention {}; overlap {}\n",
      settings.batch, facts.work.tokens, options.micro_batches,
      options.micro_batches == 1 ? "" : "es", step_fields().word(options, "--precision"),
      step_fields().word(options, "--recompute"), step_fields().word(options, "--attention"),
      step_fields().word(options, "--overlap"));
  if (!facts.idle.empty()) {
    text +=
        fmt::format("            without effect on this grid: {}\n", fmt::join(facts.idle, ", "));
  }
  text += fmt::format("optimizer   AdamW: {}; weight decay {:g}, {}{}\n",
                      described(settings.learning_rate), settings.optimizer.weight_decay,
                      clipping_text(settings.optimizer), bad_steps_text(settings));
  text +=
      fmt::format("length      {}{}\n", length_text(settings.length), resume_text(settings, facts));
  const std::string unfinished = unfinished_warm_up(settings.learning_rate, settings.length.steps);
  if (!unfinished.empty()) text += fmt::format("            {}\n", unfinished);
  if (!settings.files_taken.empty()) {
    text += fmt::format("            with {}, as the checkpoint remembers\n",
                        visible_line(settings.files_taken));
  }
  for (const std::string& change : settings.changes) {
    text += fmt::format("            with {}, other than the run that is resumed\n",
                        visible_line(change));
  }
  text += fmt::format(
      "data        {}\n            entropy of single {}s {:.3f} nats = {:.3f} bits: "
      "what guessing by frequency costs\n",
      facts.data, facts.word, facts.unigram_nats, facts.unigram_nats / std::numbers::ln2);
  for (const std::string& remark : facts.data_remarks)
    text += "            " + visible_line(remark) + "\n";
  text += loss_text(settings.data.goldfish);
  text += fmt::format("libraries   {}\n", facts.libraries);
  text += fmt::format("kernels     {}; libraries prepared in {:.1f} s\n", facts.kernels,
                      facts.prepare_seconds);
  text += fmt::format("transport   {}, progress {}{}\n", name(settings.transport),
                      name(settings.progress), facts.transports);
  text += fmt::format(
      "peak        {:.1f} Gflop/s: fp32 FMA on {} at once, measured now, {:.1f} a rank\n",
      facts.work.peak.value / 1e9, amount(settings.grid.size(), "rank"),
      facts.work.peak.value / 1e9 / ranks);
  text +=
      fmt::format("flop/s      {}; {:.2f} Gflop a step (by {}: {:.2f})\n",
                  executed_flops_convention(), facts.work.executed.value / 1e9,
                  model_flops_convention(model, options.recompute), facts.work.model.value / 1e9);
  text += fmt::format("memory      {:.1f} MB a rank counted: {}\n", facts.counted.peak.value / mega,
                      by_role(facts.counted));
  text += fmt::format("folder      {}\n", visible_line(settings.folder));
  constexpr std::size_t labels = 12;  // characters
  return hanging(text, labels);
}

std::string header_json(const TrainSettings& settings, const RunFacts& facts) {
  const Model& model = settings.model;
  const StepOptions& options = settings.options;
  nlohmann::ordered_json described{{"name", model.name}};
  described.update(ordered_json_of(model_fields().facts(), model_fields().values(model)));
  described["parameters"] = parameter_count(model);
  nlohmann::ordered_json line{
      {"kind", "run"},
      {"model", described},
      {"grid", settings.grid.str()},
      {"ranks", settings.grid.size()},
      {"batch_sequences", settings.batch},
      {"micro_batches", options.micro_batches},
      {"precision", step_fields().word(options, "--precision")},
      {"recompute", step_fields().word(options, "--recompute")},
      {"attention", step_fields().word(options, "--attention")},
      {"overlap", step_fields().word(options, "--overlap")},
      {"order", step_fields().word(options, "--order")},
      {"chunks", options.chunks},
      {"pipeline_limit", options.pipeline_limit},
      {"options", ordered_json_of(step_fields().facts(), step_fields().values(options))},
      {"without_effect", facts.idle},
      {"transport", name(settings.transport)},
      {"progress", name(settings.progress)},
      {"learning_rate", settings.learning_rate.peak},
      {"warm_up", settings.learning_rate.warm_up_steps},
      {"learning_rate_decay", name(settings.learning_rate.decay)},
      {"decay_part", settings.learning_rate.decay_part},
      {"last_learning_rate", settings.learning_rate.last_part},
      {"weight_decay", settings.optimizer.weight_decay},
      {"beta1", settings.optimizer.beta1},
      {"beta2", settings.optimizer.beta2},
      {"epsilon", settings.optimizer.epsilon},
      {"clip", settings.optimizer.clip_norm},
      {"bad_steps", name(settings.bad_steps)},
      {"steps", settings.length.steps},
      {"minutes", settings.length.minutes},
      {"seed", settings.seed},
      {"data", facts.data},
      {"word", facts.word},
      {"goldfish", json_of(settings.data.goldfish)},
      {"unigram_nats", facts.unigram_nats},
      {"cpu", facts.cpu},
      {"libraries", facts.libraries},
      {"openblas_core", facts.openblas_core},
      {"kernels", facts.kernels},
      {"prepare_s", facts.prepare_seconds},
      {"transports", facts.transports.substr(facts.transports.starts_with(", ") ? 2 : 0)},
      {"peak_flop_per_s", facts.work.peak.value},
      {"executed_flop_a_step", facts.work.executed.value},
      {"executed_flop_convention", executed_flops_convention()},
      {"model_flop_a_step", facts.work.model.value},
      {"model_flop_convention", model_flops_convention(model, options.recompute)},
      {"counted_memory_B", facts.counted.peak.value},
      {"resumed_after_step", facts.step},
      {"started_from", settings.start_from},
      {"changes", settings.changes}};
  if (!facts.data_remarks.empty()) line["data_remarks"] = facts.data_remarks;
  return line.dump();
}

std::string growth_text(std::int64_t grown_bytes, std::int64_t before_bytes,
                        const MemoryUse& counted) {
  const auto grown = static_cast<double>(grown_bytes);
  return fmt::format(
      "memory      VmHWM has grown by {:.1f} MB on the largest rank, {:+.1f} % off the count, from "
      "{:.1f} MB",
      grown / mega, 100.0 * (grown / counted.peak.value - 1.0),
      static_cast<double>(before_bytes) / mega);
}

}  // namespace fourfold::inline engine::inline train::inline run
