// Flags to spaces; see strategy_flags.hpp.
#include "scaling/cli/strategy_flags.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <stdexcept>

#include "platforms/device_memory.hpp"
#include "scaling/study/strategy_file.hpp"
#include "support/field.hpp"
#include "support/flag_checks.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

constexpr const char* micro_batches_flag = "--micro-batches";

bool is_list(const std::string& text) {
  return text == "all" || text.find_first_of(",-") != std::string::npos;
}

bool typed(const CLI::App& verb, const std::string& flag) {
  return verb.get_option(flag)->count() > 0;
}

void add_step_flags(CLI::App& verb, StrategyFlags& flags) {
  const std::vector<FieldFacts>& facts = step_fields().facts();
  for (const std::string& flag : flags_of(facts)) {
    const bool counted = flag == micro_batches_flag;
    const auto take = [flag, counted, facts, &flags](const std::string& text) {
      if (counted) {
        if (text != "all") numbers_in(flag, text);
        flags.micro_batches = text;
        return;
      }
      for (const std::string& word : listed(flag, text, separator_of(flag))) {
        flag_values(facts, flag, {word});
      }
      flags.options[flag] = text;
    };
    std::string help = flag_help(facts, flag);
    if (counted) help += ", or a list of numbers of them; searched if absent";
    if (separator_of(flag) == '/') help += "; several have / between them";
    verb.add_option_function<std::string>(flag, take, help)
        ->group("Options of the training step, each a word or a list to search, such as --zero 0,1")
        ->default_str(counted ? "" : step_fields().word({}, flag))
        ->check(some_word());
  }
}

// A file says all that is searched, and nothing of how the answer is shown.
void refuse_beside_file(const CLI::App& verb) {
  constexpr std::array others{"--help", "--space",  "--influence", "--output", "--best",
                              "--json", "--tokens", "--width",     "--wide"};
  for (const CLI::Option* option : verb.get_options()) {
    const std::string flag = option->get_name();
    if (option->count() == 0 || std::ranges::find(others, flag) != others.end()) continue;
    throw std::runtime_error(flag + " cannot take effect: the file of --space says all of it");
  }
}

void refuse_idle(const StrategyFlags& flags, const CLI::App& verb) {
  for (const char* flag : {"--at-most-grids", "--work-limit"}) {
    if (!typed(verb, flag)) continue;
    throw std::runtime_error(
        fmt::format("{} cannot take effect: whole strategies are estimated, not simulated", flag));
  }
  if (typed(verb, "--fidelity") && flags.question.fidelity != name(Fidelity::estimated)) {
    fidelity_named(flags.question.fidelity);
    throw std::runtime_error(
        "whole strategies are estimated; the answer ends with the command that simulates the best "
        "of them");
  }
  if (!flags.question.grid.empty() && typed(verb, "--stages")) {
    throw std::runtime_error("--stages cannot take effect: --grid says how many there are");
  }
}

// Where nobody says lengths of pipelines and options need some, all are looked at.
std::string stages_of(const QuestionFlags& single, const StrategyFlags& flags) {
  if (!single.stages.empty()) return single.stages;
  for (const auto& [flag, text] : flags.options) {
    for (const std::string& word : listed(flag, text, separator_of(flag))) {
      StepOptions options;
      step_fields().set(options, flag_values(step_fields().facts(), flag, {word}));
      if (options.layers_per_stage.said() || needs_stages(options.order)) return "all";
    }
  }
  return "1";
}

}  // namespace

bool StrategyFlags::open() const {
  return !file.empty() || !nodes.empty() || !micro_batch_size.empty() || is_list(micro_batches) ||
         lists_grids(question.grid) || std::ranges::any_of(options, [](const auto& option) {
           return listed(option.first, option.second, separator_of(option.first)).size() > 1;
         });
}

void add_strategy_flags(CLI::App& verb, StrategyFlags& flags) {
  add_machine_flags(verb, flags.question);
  add_tokens_flag(verb, flags.question);
  add_system_flag(verb, flags.question);
  add_shape_flags(verb, flags.question);
  for (const char* flag : {"--platform", "--model"}) verb.get_option(flag)->required(false);
  CLI::Option* grid = verb.get_option("--grid");
  grid->description(grid->get_description() + "; or lists, such as x=1,2,4,8,pipe=all");
  verb.add_option("--nodes", flags.nodes, "instead of --devices: a list of whole nodes");
  verb.add_option("--micro-batch-size", flags.micro_batch_size,
                  "sequences of a micro-batch on each share of the batch: a list such as 1,2,4 or "
                  "4-20; with --micro-batches they make the batch");
  verb.add_option("--space", flags.file, "FILE: a space of strategies as TOML (docs/search.md)");
  add_step_flags(verb, flags);
  add_what_if_flags(verb, flags.question);
}

QuestionFlags question_flags(const StrategyFlags& flags) {
  QuestionFlags question = flags.question;
  for (const auto& [flag, text] : flags.options) {
    if (listed(flag, text, separator_of(flag)).size() > 1) continue;
    for (const auto& [key, value] : flag_values(step_fields().facts(), flag, {text})) {
      question.options[key] = value;
    }
  }
  if (!flags.micro_batches.empty() && !is_list(flags.micro_batches)) {
    question.options["micro_batches"] = numbers_in(micro_batches_flag, flags.micro_batches).front();
  }
  for (const auto& [flag, value] :
       {std::pair{"--platform", &question.platform}, std::pair{"--model", &question.model}}) {
    if (value->empty()) throw std::runtime_error(std::string(flag) + " is required");
  }
  return question;
}

StrategyQuestion strategy_question(const StrategyFlags& flags, const CLI::App& verb) {
  if (!flags.file.empty()) {
    refuse_beside_file(verb);
    return read_strategy_file(flags.file);
  }
  if (!flags.question.system.empty()) {
    throw std::runtime_error(
        "--system and lists of choices do not go together: a system's grids and options are its "
        "own");
  }
  refuse_idle(flags, verb);
  const QuestionFlags single = question_flags(flags);
  StrategyQuestion question;
  Point& pattern = question.pattern;
  pattern.platform = platform_of(single);
  pattern.scales = scales_of(single);
  pattern.software = single.software;
  pattern.model = model_of(single);
  question.model_flags = model_flags(single.model, single.model_values);
  pattern.options = options_of(single);
  pattern.what_ifs = what_ifs_of(single);
  if (!pattern.what_ifs.uniform()) {
    throw std::runtime_error(
        "whole strategies are estimated, which takes all ranks and links as alike: of the what-ifs "
        "only --collective and --scale take effect");
  }
  SpaceWords words;
  if (single.devices > 0) words.devices = std::to_string(single.devices);
  words.nodes = flags.nodes;
  words.grid = single.grid;
  words.stages = stages_of(single, flags);
  words.micro_batch_size = flags.micro_batch_size;
  words.micro_batches = flags.micro_batches;
  words.options = flags.options;
  question.space = space_in(
      words, read_platform(pattern.platform, pattern.scales, pattern.software), pattern.options);
  question.space.memory_risk = single.memory_risk.value_or(usual_memory_risk);
  if (!makes_its_batch(question.space)) {
    pattern.global_batch = sequences_of(single, pattern.model);
    return question;
  }
  for (const char* flag : {"--batch-tokens", "--global-batch-size"}) {
    if (!typed(verb, flag)) continue;
    throw std::runtime_error(fmt::format(
        "{} cannot take effect: --micro-batch-size and --micro-batches make the batch", flag));
  }
  pattern.global_batch = 0;
  return question;
}

}  // namespace fourfold::inline scaling::inline cli
