// Command lines of `fourfold train` as they are read: flags, settings, or why neither.
#pragma once

#include <CLI/App.hpp>
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "engine/train/flags/command_line.hpp"
#include "engine/train/flags/flags.hpp"
#include "support/flag_checks.hpp"
#include "support/refused_words.hpp"

namespace fourfold::tests {

using Words = std::vector<std::string>;

// Of a line, between blanks.
inline Words words_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

// Of a table whose rows end with a line or with '|', each row's words.
inline std::vector<Words> rows_of(std::string table) {
  std::ranges::replace(table, '\n', '|');
  std::vector<Words> rows;
  std::istringstream cells(table);
  for (std::string row; std::getline(cells, row, '|');) {
    if (const Words words = words_of(row); !words.empty()) rows.push_back(words);
  }
  return rows;
}

struct Parsed {
  explicit Parsed(const Words& words, bool read = true) {
    add_train_flags(app, flags);
    check_all_values(app);
    if (read) parse_words(app, words);
  }
  TrainSettings settings() const { return settings_of(flags); }

  CLI::App app;
  TrainFlags flags;
};

// What is said about the words by `call`, or "accepted".
template <typename Call>
std::string said_of(const Words& words, const Call& call) {
  Parsed parsed(words, false);
  try {
    parse_words(parsed.app, words);
    call(parsed);
  } catch (const CLI::ParseError& error) {
    return sentence_of(parsed.app, error);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "accepted";
}

inline std::string refused(const Words& words) {
  return said_of(words, [](const Parsed& parsed) { parsed.settings(); });
}

}  // namespace fourfold::tests
