// Reads and repeats flags; see command_line.hpp.
#include "engine/train/flags/command_line.hpp"

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "schedule/program/process_grid.hpp"

namespace fourfold::inline engine::inline train::inline flags {

namespace {

constexpr std::array of_one_run{"--folder", "--log",  "--trace", "--trace-step", "--resume",
                                "--plan",   "--help", "--json",  "--start-from"};

constexpr std::array of_files_to_read{"--data", "--validation-data"};

bool belongs_to_one_run(const std::string& flag) {
  return std::ranges::find(of_one_run, flag) != of_one_run.end();
}

// A flag and its words as a person would type them, on one line whatever is in them.
void add_words(const std::string& flag, const nlohmann::json& words, std::string& text) {
  text += (text.empty() ? "" : " ") + flag;
  for (const nlohmann::json& word : words) text += ' ' + word.get<std::string>();
  std::ranges::replace_if(
      text, [](unsigned char letter) { return letter < 0x20 || letter == 0x7f; }, '?');
}

bool typed(const CLI::App& verb, const std::string& flag) {
  const CLI::Option* option = verb.get_option_no_throw(flag);
  return option != nullptr && option->count() > 0;
}

bool replaced(const CLI::App& verb, const std::string& flag) {
  for (const auto& pair : {std::array{"--ranks", "--grid"}, std::array{"--steps", "--minutes"}}) {
    if (flag == pair[0] || flag == pair[1]) return typed(verb, pair[0]) || typed(verb, pair[1]);
  }
  return typed(verb, flag);
}

}  // namespace

void refuse_drawing_without_effect(const CLI::App& now, const CLI::App& all, const char* seed) {
  if (all.get_option("--temperature")->as<double>() != 0.0) return;
  for (const char* flag : {"--top-k", "--top-p", seed}) {
    if (!typed(now, flag)) continue;
    throw std::runtime_error(flag + std::string(" has no effect with --temperature 0"));
  }
}

void refuse_without_effect(const CLI::App& now, const CLI::App& all) {
  const auto value = [&](const char* flag) {
    const CLI::Option* option = all.get_option(flag);
    return option->count() > 0 ? option->results().back() : option->get_default_str();
  };
  const auto refuse = [&](std::initializer_list<const char*> flags, const std::string& reason) {
    for (const char* flag : flags) {
      if (typed(now, flag)) throw std::runtime_error(flag + (" has no effect " + reason));
    }
  };
  if (typed(all, "--resume")) {
    refuse({"--start-from"}, "beside --resume, which goes on with weights and all else");
  }
  if (!typed(all, "--trace")) refuse({"--trace-step"}, "without --trace FILE");
  if (typed(all, "--validation-data")) refuse({"--held-out"}, "beside --validation-data");
  if (typed(all, "--json")) refuse({"--print-every"}, "with --json, which prints every step");
  if (value("--goldfish-k") == "0") refuse({"--goldfish-h"}, "without --goldfish-k");
  if (value("--precision") == "fp32") {
    refuse({"--grad-precision-z", "--grad-precision-data"},
           "with --precision fp32, which is fp32 throughout");
  }
  if (value("--learning-rate-decay") != "wsd") {
    refuse({"--decay-part"}, "without --learning-rate-decay wsd");
  }
  if (value("--learning-rate-decay") == "constant") {
    refuse({"--last-learning-rate"}, "with --learning-rate-decay constant");
  }
  if (value("--zero") == "2" || value("--zero") == "3") {
    refuse({"--grad-precision-data"},
           "with --zero " + value("--zero") +
               ", which reduces gradients along data as they come from z: --grad-precision-z");
  }
  if (value("--tokens") == "0") {
    refuse({"--prompt", "--texts", "--temperature", "--top-k", "--top-p", "--sample-seed",
            "--sample-every"},
           "with --tokens 0: no text is drawn");
  }
  refuse_drawing_without_effect(now, all, "--sample-seed");
  if (value("--recompute") == "full") return;
  refuse({"--offload-activations"}, "without --recompute full");
  if (typed(now, "--overlap") && value("--overlap").find("recompute") != std::string::npos) {
    throw std::runtime_error("--overlap recompute has no effect without --recompute full");
  }
}

void parse_words(CLI::App& verb, const std::vector<std::string>& words) {
  verb.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // the form that CLI11 takes
}

nlohmann::json typed_flags(const CLI::App& verb) {
  nlohmann::json flags = nlohmann::json::object();
  for (const CLI::Option* option : verb.get_options()) {
    const std::string flag = option->get_name();
    if (option->count() > 0 && !belongs_to_one_run(flag)) flags[flag] = option->results();
  }
  return flags;
}

std::vector<std::string> words_with(const std::vector<std::string>& words, const CLI::App& parsed,
                                    const nlohmann::json& before) {
  std::vector<std::string> all = words;
  for (const auto& [flag, values] : before.items()) {
    // A name alone: "--log=/etc/motd" would be read as another flag than it is looked up as.
    const CLI::Option* option = parsed.get_option_no_throw(flag);
    if (option == nullptr || option->get_name() != flag) {
      throw std::runtime_error("unknown flag '" + flag +
                               "' among those that a checkpoint remembers");
    }
    if (belongs_to_one_run(flag) || replaced(parsed, flag)) continue;
    for (const nlohmann::json& value : values) {
      all.push_back(flag + "=" + value.get<std::string>());
    }
  }
  return all;
}

std::string take_flags_of_stages(const CLI::App& parsed, nlohmann::json& before) {
  if (!replaced(parsed, "--grid")) return "";
  const auto stages = [](const std::string& grid) {
    return grid.empty() ? 1 : ProcessGrid::parse(grid).extent(Axis::pipe);
  };
  const std::string now =
      typed(parsed, "--grid") ? parsed.get_option("--grid")->results().back() : "";
  const std::string then =
      before.contains("--grid") ? before.at("--grid").back().get<std::string>() : "";
  std::string text;
  try {
    if (stages(now) == stages(then)) return "";
  } catch (const std::invalid_argument&) {
    return "";  // a grid that is refused elsewhere
  }
  for (const char* flag : {"--order", "--chunks", "--pipeline-limit", "--layers-per-stage"}) {
    if (!before.contains(flag) || typed(parsed, flag)) continue;
    add_words(flag, before.at(flag), text);
    before.erase(flag);
  }
  return text;
}

std::string left_out(const nlohmann::json& before) {
  std::string text;
  for (const auto& [flag, words] : before.items()) {
    if (belongs_to_one_run(flag)) add_words(flag, words, text);
  }
  return text;
}

std::string files_taken(const CLI::App& parsed, const nlohmann::json& before) {
  std::string text;
  for (const char* flag : of_files_to_read) {
    if (before.contains(flag) && !replaced(parsed, flag)) add_words(flag, before.at(flag), text);
  }
  return text;
}

}  // namespace fourfold::inline engine::inline train::inline flags
