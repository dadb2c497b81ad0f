// Paths and flags of resumed runs; see resume.hpp.
#include "engine/train/checkpoint/resume.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/checkpoint_record.hpp"
#include "engine/train/flags/command_line.hpp"
#include "support/field.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

namespace files = std::filesystem;

constexpr std::array flags_of_the_data{"--data", "--validation-data", "--held-out", "--token-bits"};

// What decides which numbers are trained, beside the options of the step that do; the model must be
// the same, anyway.
std::vector<std::string> flags_of_the_numbers() {
  std::vector<std::string> flags(flags_of_the_data.begin(), flags_of_the_data.end());
  flags.insert(flags.end(), {"--data-order", "--seed", "--batch", "--goldfish-k", "--goldfish-h"});
  for (const FieldFacts& field : step_fields().facts()) {
    if (field.numbers) flags.push_back(field.flag);
  }
  flags.insert(flags.end(), {"--learning-rate", "--clip", "--beta1", "--beta2", "--epsilon",
                             "--last-learning-rate", "--warm-up", "--learning-rate-decay",
                             "--decay-part", "--weight-decay", "--bad-steps", "--bad-norm"});
  return flags;
}

bool speaks_of(const std::string& record, const std::string& data_file) {
  try {
    return parse_checkpoint_record(read_whole_file(record)).data_file == data_file;
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::optional<double> number(const std::string& text) {
  double value = 0.0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

bool same(const std::string& left, const std::string& right) {
  return left == right || (number(left) && number(left) == number(right));
}

// "--steps 90 --minutes 2": of the flags of a run's length those that limit it.
std::string length_words(const nlohmann::json& typed) {
  std::string text;
  for (const char* flag : {"--steps", "--minutes"}) {
    const std::vector<std::string> words = typed.value(flag, std::vector<std::string>{"0"});
    if (words.empty() || number(words.back()) == 0.0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", flag, words.back());
  }
  return text.empty() ? "the default length" : text;
}

}  // namespace

std::string checkpoint_meant(const std::string& path) {
  if (files::is_directory(path)) {
    const std::string inner = (files::path(path) / "checkpoints").string();
    if (finished_checkpoints(path).empty()) return files::is_directory(inner) ? inner : path;
    if (finished_checkpoints(inner).empty()) return path;
    throw std::runtime_error(
        fmt::format("{0} holds checkpoints, and so does {1}; name {1}, or one of the .json in {0}",
                    path, inner));
  }
  if (!path.ends_with(".safetensors") || !files::exists(path)) return path;
  const std::string folder = files::absolute(path).parent_path().string();
  const std::string name = files::path(path).filename().string();
  for (const std::string& record : finished_checkpoints(folder)) {
    if (speaks_of(record, name)) return record;
  }
  throw std::runtime_error(path +
                           " is the data of a checkpoint, but no .json beside it, which "
                           "tells of its step and optimizer, speaks of it");
}

std::string folder_of(const std::string& checkpoint) {
  std::error_code missing;
  if (files::is_directory(checkpoint, missing)) return checkpoint;
  return (files::path(checkpoint) / "..").lexically_normal().string();
}

void expect_same_model(const Model& resumed, const Model& wanted) {
  if (model_fields().values(resumed) == model_fields().values(wanted)) return;
  throw std::runtime_error(
      fmt::format("the resumed run trained {}, which cannot go on as {}; leave --model out, or "
                  "start a new run without --resume",
                  described(resumed), described(wanted)));
}

void expect_model_of(const std::string& checkpoint, const Model& its, const Model& wanted) {
  if (model_fields().values(its) == model_fields().values(wanted)) return;
  throw std::runtime_error(fmt::format(
      "{} holds weights of {}, which cannot be trained as {}; leave --model out, or --start-from",
      checkpoint, described(its), described(wanted)));
}

nlohmann::json typed_before(const TrainingState& resumed) {
  nlohmann::json typed = resumed.trainer.value("typed", nlohmann::json::object());
  const std::vector<std::string> order = typed.value("--order", std::vector<std::string>());
  if (!order.empty() && (order.back() == "shuffled" || order.back() == "sequential")) {
    typed["--data-order"] = order;
    typed.erase("--order");
  }
  typed.erase("--validation-batches");  // --validation-words has another meaning
  return typed;
}

std::vector<std::string> changes_since(const nlohmann::json& before, const CLI::App& now) {
  std::vector<std::string> changes;
  for (const std::string& flag : flags_of_the_numbers()) {
    const CLI::Option* option = now.get_option_no_throw(flag);
    if (option == nullptr || option->count() == 0) continue;
    std::vector<std::string> old{option->get_default_str()};
    if (before.contains(flag)) before.at(flag).get_to(old);
    const std::vector<std::string>& typed = option->results();
    if (std::ranges::equal(old, typed, same)) continue;
    const std::string was = fmt::format("{}", fmt::join(old, " "));
    changes.push_back(fmt::format("{} {} instead of {}", flag, fmt::join(typed, " "),
                                  was.empty() || was == "[]" || was == "{}" ? "the default" : was));
  }
  const nlohmann::json typed = typed_flags(now);
  const std::string was = length_words(before), is = length_words(typed);
  if ((typed.contains("--steps") || typed.contains("--minutes")) && is != was) {
    changes.push_back(fmt::format("{} instead of {}", is, was));
  }
  return changes;
}

bool asks_for_other_data(const std::vector<std::string>& changes) {
  return std::ranges::any_of(changes, [](const std::string& change) {
    return std::ranges::any_of(flags_of_the_data, [&](const char* flag) {
      return change.starts_with(flag + std::string(" "));
    });
  });
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
