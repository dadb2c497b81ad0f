// Command lines of `fourfold train` as they are read: flags, settings, or why neither.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/train/flags/command_line.hpp"
#include "engine/train/flags/flags.hpp"
#include "support/flag_checks.hpp"
#include "support/refused_words.hpp"

namespace fourfold::tests {

using Words = std::vector<std::string>;

struct Parsed {
  explicit Parsed(const Words& words) {
    add_train_flags(app, flags);
    check_all_values(app);
    parse_words(app, words);
  }
  TrainSettings settings() const { return settings_of(flags); }

  CLI::App app;
  TrainFlags flags;
};

// What is said about the words by `call`, or "accepted".
template <typename Call>
std::string said_of(const Words& words, const Call& call) {
  CLI::App app;
  TrainFlags flags;
  add_train_flags(app, flags);
  try {
    call(Parsed(words));
  } catch (const CLI::ParseError& error) {
    return sentence_of(app, error);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "accepted";
}

inline std::string refused(const Words& words) {
  return said_of(words, [](const Parsed& parsed) { parsed.settings(); });
}

}  // namespace fourfold::tests
