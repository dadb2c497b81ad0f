// Flags to questions; see question_flags.hpp. Words become JSON and go through the reader of
// records, so that the command line, campaigns and records know the same names.
#include "scaling/cli/question_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "scaling/cli/flag_checks.hpp"
#include "scaling/cli/what_if_words.hpp"
#include "sim/question/point_json.hpp"
#include "support/json_object.hpp"
#include "support/nearest_name.hpp"

namespace fourfold {
namespace {

// "all", "none", or a list of oar, ors, oag and recompute.
nlohmann::json overlap_json(const std::string& words) {
  const std::vector<std::pair<std::string, std::string>> known{{"oar", "all_reduce"},
                                                               {"ors", "reduce_scatter"},
                                                               {"oag", "all_gather"},
                                                               {"recompute", "recompute_gather"}};
  nlohmann::json overlap;
  for (const auto& [word, key] : known) overlap[key] = words == "all";
  if (words == "all" || words == "none") return overlap;
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, ',');) {
    if (word == "all" || word == "none") {
      throw std::runtime_error("overlap '" + words + "': " + word +
                               " stands alone; write all, none, or some of oar,ors,oag,recompute");
    }
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& entry) { return entry.first == word; });
    if (found == known.end()) {
      throw std::runtime_error(
          "unknown overlap '" + word + "'" +
          did_you_mean(word, {"all", "none", "oar", "ors", "oag", "recompute"}));
    }
    overlap[found->second] = true;
  }
  return overlap;
}

// "key=factor" entries.
Scales scales_of(const std::vector<std::string>& entries) {
  nlohmann::json scales = nlohmann::json::object();
  for (const std::string& entry : entries) {
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

}  // namespace

void add_machine_flags(CLI::App& verb, QuestionFlags& flags) {
  verb.add_option("--platform", flags.platform, "machine: a name (fourfold platforms) or a file")
      ->required();
  verb.add_option("--devices", flags.devices, "GPUs, or GCDs on MI250X")
      ->required()
      ->check(whole_number(1));
  verb.add_option("--batch-tokens", flags.batch_tokens, "global batch in tokens")
      ->capture_default_str()
      ->check(whole_number(1, most_batch_tokens));
  verb.add_option("--scale", flags.scales,
                  "KEY=FACTOR: what if this number of the platform were FACTOR times as large");
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

void add_model_flags(CLI::App& verb, QuestionFlags& flags) {
  verb.add_option("--model", flags.model, "a name (fourfold models) or a file")->required();
  verb.add_option("--vocabulary", flags.vocabulary, "entries, instead of the model file's")
      ->check(whole_number(1, most_vocabulary));
  verb.add_option("--grid", flags.grid, "process grid XxYxZxDATA; searched if absent")
      ->check(some_word());
  verb.add_option("--micro-batches", flags.micro_batches, "searched if absent")
      ->check(whole_number(1));
  const char* group = "Options of the training step (defaults: as the published code)";
  const auto add = [&](const char* flag, std::string& value, const char* description) {
    verb.add_option(flag, value, description)->group(group)->check(some_word());
  };
  add("--recompute", flags.recompute, "activation checkpointing: full (default) or none");
  add("--overlap", flags.overlap,
      "all (default), none, or some of oar,ors,oag,recompute: all-reduce, reduce-scatter, "
      "all-gather, gathers of recompute");
  add("--weight-gather", flags.weight_gather, "per-micro-batch (default) or keep");
  add("--gradient-reduction", flags.gradient_reduction,
      "along z: per-micro-batch (default) or accumulated");
  add("--data-reduction", flags.data_reduction, "after-backward (default) or beside-backward");
  add("--grad-precision-z", flags.precision_z, "of the reduction along z: bf16 (default) or fp32");
  add("--grad-precision-data", flags.precision_data,
      "of the reduction along data: fp32 (default) or bf16");
  verb.add_option("--in-flight-blocks", flags.in_flight_blocks,
                  "blocks whose reduce-scatters may be in flight (default 2)")
      ->group(group)
      ->check(whole_number(1, most_in_flight_blocks));
}

void add_what_if_flags(CLI::App& verb, QuestionFlags& flags) {
  const char* group =
      "What-ifs (the grid is searched without them, but for --collective and --scale)";
  const auto add = [&](const char* flag, auto& value, const char* description) {
    return verb.add_option(flag, value, description)->group(group)->check(some_word());
  };
  add("--placement", flags.placement,
      "packed (default), spread (nodes dealt out to the groups of the network in turn), random "
      "(nodes of the whole machine), nodes=LIST or devices=LIST such as 0-7,12, nodes:FILE or "
      "devices:FILE with a number a line");
  add("--jitter", flags.jitter,
      "such as 2%: standard deviation of compute steps, lognormal, by rank and step");
  add("--slow-devices", flags.slow_devices,
      "COUNT:SPEED, such as 1:0.5, evenly spread over the ranks; or DEVICES=SPEED, such as "
      "17,4000=0.5");
  add("--degrade", flags.degrade,
      "LINK=FACTOR on the bandwidth, such as nic:17.2=0.5 (node, NIC), inner:17.0-1, local:3.0-5 "
      "(group, switches), global:3-9 (groups), device:5 (crossbar)");
  add("--fail", flags.fail,
      "LINK or LINK=CABLES: nic:17.2, local:3.0-5, global:3-9=2; what has no cable left is gone, "
      "and its traffic takes other ways");
  add("--collective", flags.collective,
      "auto (default), ring, tree, recursive or hierarchical, where groups can; all-reduce:tree "
      "for "
      "one kind only");
  verb.add_option("--seed", flags.seed, "of jitter and random placement (default 1)")
      ->group(group)
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
}

namespace {

// What the other flags leave nothing to do for.
void refuse_idle(const QuestionFlags& flags) {
  const bool estimated = flags.fidelity == name(Fidelity::estimated);
  const bool single = !flags.grid.empty() && flags.micro_batches > 0;
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

Model model_of(const QuestionFlags& flags) {
  return model_with(flags.model, flags.vocabulary);
}

StepOptions options_of(const QuestionFlags& flags) {
  nlohmann::json options = json_of(StepOptions{});
  const auto set = [&](const char* key, const std::string& word) {
    if (!word.empty()) options[key] = word;
  };
  set("recompute", flags.recompute);
  set("weight_gather", flags.weight_gather);
  set("gradient_reduction", flags.gradient_reduction);
  set("data_reduction", flags.data_reduction);
  set("grad_reduce_precision_z", flags.precision_z);
  set("grad_reduce_precision_data", flags.precision_data);
  if (!flags.overlap.empty()) options["overlap"] = overlap_json(flags.overlap);
  if (flags.in_flight_blocks > 0) options["in_flight_blocks"] = flags.in_flight_blocks;
  if (flags.micro_batches > 0) options["micro_batches"] = flags.micro_batches;
  const StepOptions read = read_options(JsonObject(options, "options"));
  const bool listed = flags.overlap != "all" && read.overlap.recompute_gather;
  if (!flags.overlap.empty() && listed && read.recompute == Recompute::none) {
    throw std::runtime_error(
        "--overlap recompute cannot take effect: --recompute none gathers nothing anew");
  }
  if (flags.in_flight_blocks > 0 && !read.overlap.reduce_scatter) {
    throw std::runtime_error(
        "--in-flight-blocks cannot take effect: --overlap is without ors, so no reduce-scatter is "
        "left in flight");
  }
  return read;
}

WhatIfs what_ifs_of(const QuestionFlags& flags) {
  nlohmann::json words = nlohmann::json::object();
  const auto set = [&](const char* key, const auto& value) {
    if (!value.empty()) words[key] = value;
  };
  set("placement", flags.placement);
  set("jitter", flags.jitter);
  set("slow_devices", flags.slow_devices);
  set("degrade", flags.degrade);
  set("fail", flags.fail);
  set("collective", flags.collective);
  if (flags.seed >= 0) words["seed"] = flags.seed;
  return what_ifs_in(words, read_platform(flags.platform), "");
}

Question question_of(const QuestionFlags& flags) {
  refuse_idle(flags);
  Question question;
  question.platform = flags.platform;
  question.scales = scales_of(flags.scales);
  question.model = model_of(flags);
  question.devices = flags.devices;
  question.global_batch = sequences_in(flags.batch_tokens, question.model);
  question.options = options_of(flags);
  question.what_ifs = what_ifs_of(flags);
  if (!flags.grid.empty()) question.grid = ProcessGrid::parse(flags.grid);
  if (flags.micro_batches > 0) question.micro_batches = flags.micro_batches;
  return question;
}

StoppingRule rule_of(const QuestionFlags& flags) {
  StoppingRule rule;
  if (flags.at_most_grids > 0) rule.at_most = flags.at_most_grids;
  if (flags.work_limit > 0) rule.work_limit = flags.work_limit;
  rule.at_least = std::min(rule.at_least, rule.at_most);
  return rule;
}

}  // namespace fourfold
