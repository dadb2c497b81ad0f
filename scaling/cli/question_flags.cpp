// Flags to questions; see question_flags.hpp. Models, options and what-ifs are added and read by
// their tables of fields, as campaigns and records are. It is long because a question has many
// flags.
#include "scaling/cli/question_flags.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "platforms/device_memory.hpp"
#include "platforms/file/scale_groups.hpp"
#include "scaling/cli/launch_flags.hpp"
#include "scaling/records/asked_stages.hpp"
#include "scaling/records/open_options.hpp"
#include "scaling/systems/system.hpp"
#include "scaling/words/amounts.hpp"
#include "scaling/words/what_if_words.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/program/without_effect.hpp"
#include "sim/conditions/idle_scales.hpp"
#include "sim/question/point_json.hpp"
#include "support/counts_of_1024.hpp"
#include "support/divisors.hpp"
#include "support/field_flags.hpp"
#include "support/field_json.hpp"
#include "support/flag_checks.hpp"
#include "support/prose.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

// Says in its help what a flag is without a word.
void add_if_absent(CLI::App& verb, const std::string& flag, const std::string& absent) {
  CLI::Option* option = verb.get_option(flag);
  option->description(option->get_description() + "; " + absent + " if absent");
}

}  // namespace

// Of "key=factor" entries.
Scales scales_of(const QuestionFlags& flags) {
  nlohmann::json scales = nlohmann::json::object();
  for (const std::string& entry : flags.scales) {
    const std::size_t equals = entry.rfind('=');
    double factor = 0.0;
    const char* end = entry.data() + entry.size();
    const bool split = equals != std::string::npos && equals > 0;
    const auto parsed = split ? std::from_chars(entry.data() + equals + 1, end, factor)
                              : std::from_chars_result{end, std::errc::invalid_argument};
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      throw std::runtime_error("--scale '" + entry +
                               "' is no KEY=FACTOR, such as network.link_bandwidth_GBps=0.5");
    }
    const std::string key = entry.substr(0, equals);
    if (scales.contains(key)) {
      throw std::runtime_error("--scale gives two factors for '" + key + "'; give their product");
    }
    scales[key] = factor;
  }
  return read_scales(scales);
}

void add_batch_flags(CLI::App& verb, QuestionFlags& flags) {
  CLI::Option* tokens = verb.add_option("--batch-tokens", flags.batch_tokens,
                                        "global batch in tokens; 4M are 4 x 1024 x 1024")
                            ->default_str(fmt::to_string(usual_batch_tokens))
                            ->transform(counts_of_1024())
                            ->check(whole_number(1, most_batch_tokens));
  verb.add_option("--global-batch-size", flags.global_batch_size,
                  "the same in sequences, instead of --batch-tokens")
      ->check(whole_number(1, most_batch_tokens))
      ->excludes(tokens);
}

void add_machine_flags(CLI::App& verb, QuestionFlags& flags) {
  verb.add_option("--platform", flags.platform, "machine: a name (fourfold platforms) or a file")
      ->required();
  verb.add_option("--library", flags.library,
                  "collective library instead of the machine's own, where another was measured on "
                  "it: pccl or cray-mpich on frontier");
  verb.add_option("--devices", flags.devices,
                  "GPUs, or GCDs on MI250X; those of --grid if it is given")
      ->check(whole_number(1));
  add_batch_flags(verb, flags);
  verb.add_option("--scale", flags.scales,
                  "KEY=FACTOR: what if this number of the platform were FACTOR times as large; "
                  "nics, links, network, memory and devices are all numbers of that part");
  verb.add_option("--software", flags.software,
                  "what the model is trained with: a name (fourfold software) or a file; the "
                  "system's or the machine's own if absent")
      ->check(some_word());
  verb.add_option("--memory-risk", flags.memory_risk,
                  fmt::format("0.01 to 0.99: how likely the run may be to run out of memory; {:g} "
                              "if absent, and what may fit on a --grid where nothing else does",
                              usual_memory_risk))
      ->check(number(0.01, 0.99));
  verb.add_option("--fidelity", flags.fidelity,
                  "estimated (closed form); simulated (SimGrid); full: the chosen grid with every "
                  "layer and micro-batch; s4u, s4u-step: with stock SimGrid communications")
      ->capture_default_str();
  verb.add_option("--at-most-grids", flags.at_most_grids,
                  fmt::format("limit on simulated grids (default {})", StoppingRule{}.at_most))
      ->check(whole_number(1));
  verb.add_option(
          "--work-limit", flags.work_limit,
          fmt::format("units of work (some 30 million a CPU second) after which the simulation of "
                      "a grid is given up; not if it is the only one (default {})",
                      StoppingRule{}.work_limit))
      ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()));
}

void add_tokens_flag(CLI::App& verb, QuestionFlags& flags) {
  verb.add_option(
          "--tokens", flags.tokens,
          "of a whole run, such as 300B or 2T: its days and device-hours are given, without "
          "failures and checkpoints (fourfold advise counts those)")
      ->check(some_word());
}

void add_system_flag(CLI::App& verb, QuestionFlags& flags) {
  verb.add_option("--system", flags.system,
                  "a training system, by name (fourfold systems) or file: grids and options are "
                  "its own; options typed besides win, unless it forbids them")
      ->check(some_word());
}

void add_shape_flags(CLI::App& verb, QuestionFlags& flags) {
  verb.add_option("--model", flags.model,
                  "a name (fourfold models), a file, or a config.json or its folder")
      ->required();
  add_launch_flags(verb);
  add_field_flags(verb, "Options", model_fields().facts(), {}, flags.model_values);
  add_if_absent(verb, "--sequence", "the model file's");
  verb.get_option("--sequence")->transform(counts_of_1024());
  add_if_absent(verb, "--vocabulary", "the model file's");
  verb.add_option(
          "--grid", flags.grid,
          "process grid XxYxZxDATA, or by name, such as x=8,pipe=16,data=8 (tp, fsdp, dp and "
          "pp are x, z, data and pipe); searched if absent")
      ->check(some_word());
  verb.add_option("--stages", flags.stages,
                  "lengths of pipelines to search: a list such as 1,2,4, or all; 1 if absent, "
                  "or all with a --system that has pipelines");
}

void add_model_flags(CLI::App& verb, QuestionFlags& flags) {
  add_shape_flags(verb, flags);
  FieldValues usual = step_fields().values({});
  usual.erase("micro_batches");
  add_field_flags(verb, "Options of the training step (defaults: as the code of SC24)",
                  step_fields().facts(), usual, flags.options);
  add_if_absent(verb, "--micro-batches", "searched");
}

void say_left_open(CLI::App& verb, const std::string& when) {
  for (const std::string& flag : open_option_flags()) {
    CLI::Option* option = verb.get_option(flag);
    option->description(option->get_description() + "; searched if absent" + when);
  }
}

void add_micro_batch_size_flag(CLI::App& verb, QuestionFlags& flags) {
  verb.add_option(
          "--micro-batch-size", flags.micro_batch_size,
          "instead of --micro-batches, with --grid: sequences of a micro-batch on each share "
          "of the batch, of which there are z x data")
      ->check(whole_number(1))
      ->excludes(verb.get_option("--micro-batches"));
}

void add_what_if_flags(CLI::App& verb, QuestionFlags& flags) {
  add_field_flags(verb,
                  "What-ifs (the grid is searched without them, but for --collective and --scale)",
                  what_if_fields().facts(), {}, flags.what_ifs);
}

namespace {

// On any grid of the devices, where it is searched: a ring over all of them.
void refuse_idle_scales(const Question& question) {
  if (question.scales.empty()) return;
  const ProcessGrid grid = question.grid.value_or(ProcessGrid(question.devices, 1, 1, 1));
  const Platform platform = read_platform(question.platform, question.scales, question.software);
  if (grid.size() > platform.devices()) return;  // which is refused with that
  fourfold::refuse_idle_scales(point_of(question, grid, 1), platform);
  check_as_scaled(platform);
}

// What the other flags leave nothing to do for.
void refuse_idle(const QuestionFlags& flags) {
  const bool estimated = flags.fidelity == name(Fidelity::estimated);
  const bool single = !flags.grid.empty() && (flags.micro_batches() || flags.micro_batch_size > 0);
  for (const auto& [flag, value] : {std::pair{"--at-most-grids", flags.at_most_grids},
                                    std::pair{"--work-limit", flags.work_limit}}) {
    if (value == 0 || (!estimated && !single)) continue;
    throw std::runtime_error(fmt::format(
        "{} cannot take effect: {}", flag,
        estimated ? "--fidelity estimated simulates nothing"
                  : "--grid and --micro-batches leave one simulation, which no limit ends"));
  }
}

}  // namespace

std::optional<std::int64_t> QuestionFlags::micro_batches() const {
  const auto typed = options.find("micro_batches");
  if (typed == options.end()) return std::nullopt;
  return std::get<std::int64_t>(typed->second);
}

std::string platform_of(const QuestionFlags& flags) {
  return flags.platform + (flags.library.empty() ? "" : '+' + flags.library);
}

Model model_of(const QuestionFlags& flags) {
  return model_with(flags.model, flags.model_values);
}

std::int64_t sequences_of(const QuestionFlags& flags, const Model& model) {
  if (flags.global_batch_size == 0) {
    if (!flags.batch_tokens && phase_named(flags.phase) == Phase::decode) {
      throw std::runtime_error(
          "--phase decode needs --global-batch-size: how many sequences are decoded at a time");
    }
    return sequences_in(flags.batch_tokens.value_or(usual_batch_tokens), model);
  }
  return sequences_in(flags.global_batch_size * model.sequence, model);
}

namespace {

const FieldFacts& field_of(const std::string& key) {
  return *std::ranges::find(step_fields().facts(), key, &FieldFacts::key);
}

// "--in-flight-blocks"; of what is a word in a list, with that: "--overlap recompute".
std::string typed_flag(const std::string& key) {
  const FieldFacts& field = field_of(key);
  const OnOff* on_off = std::get_if<OnOff>(&field.kind);
  return field.flag + (on_off == nullptr || on_off->word.empty() ? "" : ' ' + on_off->word);
}

// What was typed must have an effect.
void refuse_idle_options(const QuestionFlags& flags, const StepOptions& options) {
  for (const auto& [key, value] : flags.options) {
    const std::optional<WithoutEffect> idle = why_without_effect(key, options);
    if (!idle) continue;
    const std::string& by = field_of(idle->by).flag;
    throw std::runtime_error(fmt::format("{} cannot take effect: {} {} {}", typed_flag(key), by,
                                         step_fields().word(options, by), idle->why));
  }
}

}  // namespace

void add_phase_flag(CLI::App& verb, QuestionFlags& flags) {
  verb.add_option("--phase", flags.phase,
                  "what the model is run for: training; evaluation, forward passes and their loss; "
                  "prefill, a first reading whose keys and values are kept; or decode, the next "
                  "token of each sequence, after --sequence others")
      ->check(some_word())
      ->capture_default_str();
}

StepOptions options_of(const QuestionFlags& flags) {
  StepOptions options;
  options.phase = phase_named(flags.phase);
  step_fields().set(options, flags.options);
  refuse_idle_options(flags, options);
  return options;
}

WhatIfs what_ifs_of(const QuestionFlags& flags) {
  return what_ifs_in(json_of_values(flags.what_ifs), read_platform(flags.platform), "");
}

namespace {

// "1,2,4", or all that divide the devices and have layers.
std::vector<std::int64_t> stages_of(const QuestionFlags& flags, const Question& question) {
  if (flags.stages.empty()) {
    return flags.system.empty() ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{};
  }
  if (question.grid) {
    throw std::runtime_error("--stages cannot take effect: --grid says how many there are");
  }
  const std::int64_t most = question.model.layers / question.options.chunks;
  std::vector<std::int64_t> stages;
  if (flags.stages == "all") {
    std::ranges::copy_if(divisors(question.devices), std::back_inserter(stages),
                         [most](std::int64_t count) { return count <= most; });
    return stages;
  }
  std::stringstream list(flags.stages);
  for (std::string word; std::getline(list, word, ',');) {
    std::int64_t count = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), count);
    if (parsed.ec != std::errc() || parsed.ptr != word.data() + word.size() || count < 1) {
      throw std::runtime_error("--stages '" + flags.stages +
                               "' is no list of whole numbers, such as 1,2,4, nor all");
    }
    if (question.devices % count != 0) {
      throw std::runtime_error(
          fmt::format("--stages: {} stages do not divide {} devices", count, question.devices));
    }
    stages.push_back(count);
  }
  return stages;
}

// No length but those that were typed.
void ask_for_stages_of(const QuestionFlags& flags, Question& question) {
  const std::vector<std::int64_t> before = question.stages;
  ask_for_stages(question);
  if (flags.stages.empty() || question.stages == before) return;
  throw std::runtime_error(
      fmt::format("--stages {} leaves out what the other options ask for: pipelines of {} stages",
                  flags.stages, fmt::join(question.stages, ", ")));
}

// As many as have the size that was typed.
std::int64_t micro_batches_of(const QuestionFlags& flags, const Question& question) {
  if (!question.grid) {
    throw std::runtime_error(
        "--micro-batch-size needs a --grid, whose z x data share the batch; `fourfold search` "
        "looks for grids with it");
  }
  const std::int64_t shares = replicas(*question.grid), size = flags.micro_batch_size;
  const std::int64_t number = std::max<std::int64_t>(question.global_batch / shares / size, 1);
  if (number * shares * size == question.global_batch) return number;
  throw std::runtime_error(fmt::format(
      "--micro-batch-size {}: a batch of {} on the {} of grid {} is no whole number of them; {} "
      "would be",
      size, counted(question.global_batch, "sequence"), counted(shares, "share"),
      question.grid->str(), counted(number * shares * size, "sequence")));
}

}  // namespace

Question question_of(const QuestionFlags& flags) {
  refuse_idle(flags);
  Question question;
  question.platform = platform_of(flags);
  question.scales = scales_of(flags);
  question.model = model_of(flags);
  if (!flags.grid.empty()) question.grid = ProcessGrid::parse(flags.grid);
  if (flags.devices == 0 && !question.grid) {
    throw std::runtime_error("--devices is required, or a --grid that says how many there are");
  }
  question.devices = flags.devices == 0 ? question.grid->size() : flags.devices;
  question.global_batch = sequences_of(flags, question.model);
  question.micro_batches = flags.micro_batches();
  if (flags.micro_batch_size > 0) question.micro_batches = micro_batches_of(flags, question);
  question.memory_risk = flags.memory_risk;
  question.what_ifs = what_ifs_of(flags);
  if (flags.system.empty()) {
    question.options = options_of(flags);
    ask_of_software(question, flags.software, "command line", flags.options);
    question.stages = stages_of(flags, question);
    ask_for_stages_of(flags, question);
    refuse_idle_scales(question);
    return question;
  }
  question.options.phase = phase_named(flags.phase);
  question.stages = stages_of(flags, question);
  FieldValues typed = flags.options;
  typed.erase("micro_batches");
  question.software = flags.software;
  if (!flags.software.empty()) question.software_by = "command line";
  ask_of_system(question, read_system(flags.system), {typed, "command line"},
                read_platform(question.platform, question.scales, question.software));
  ask_for_stages_of(flags, question);
  refuse_idle_options(flags, question.options);
  refuse_idle_scales(question);
  return question;
}

double tokens_of(const QuestionFlags& flags) {
  return flags.tokens.empty() ? 0.0 : amount_in("--tokens", flags.tokens);
}

StoppingRule rule_of(const QuestionFlags& flags) {
  StoppingRule rule;
  if (flags.at_most_grids > 0) rule.at_most = flags.at_most_grids;
  if (flags.work_limit > 0) rule.work_limit = flags.work_limit;
  rule.at_least = std::min(rule.at_least, rule.at_most);
  return rule;
}

}  // namespace fourfold::inline scaling::inline cli
