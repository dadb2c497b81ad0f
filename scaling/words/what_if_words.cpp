// Placement lists become words that need no file; see what_if_words.hpp.
#include "scaling/words/what_if_words.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

#include "sim/question/point_json.hpp"
#include "support/json_object.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline words {
namespace {

// Without comment and the blanks around.
std::string content(std::string line) {
  line.erase(std::min(line.find('#'), line.size()));
  const char* blanks = " \t\r";
  const std::size_t first = line.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

}  // namespace

std::vector<std::int64_t> read_placement_list(const std::string& path, const std::string& what,
                                              std::int64_t limit) {
  std::istringstream file(read_text_file(path, "the placement list"));
  std::vector<std::int64_t> numbers;
  std::unordered_map<std::int64_t, std::int64_t> line_of;
  std::int64_t line_number = 0;
  for (std::string line; std::getline(file, line);) {
    ++line_number;
    const std::string word = content(line);
    if (word.empty()) continue;
    const auto refuse = [&](const std::string& why) {
      throw std::runtime_error(fmt::format("{}, line {}: {}", path, line_number, why));
    };
    std::int64_t number = 0;
    const char* end = word.data() + word.size();
    const auto parsed = std::from_chars(word.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      refuse(fmt::format("'{}' is no {} number; write one a line", word.substr(0, 40), what));
    }
    if (number < 0 || number >= limit) {
      refuse(
          fmt::format("there is no {} {}; the machine has {} to {}", what, number, 0, limit - 1));
    }
    const auto [known, is_new] = line_of.emplace(number, line_number);
    if (!is_new)
      refuse(fmt::format("{} {} stands in line {} already", what, number, known->second));
    numbers.push_back(number);
  }
  if (numbers.empty()) {
    throw std::runtime_error(
        fmt::format("{}: the list is empty; write the number of a {} in every line", path, what));
  }
  return numbers;
}

WhatIfs what_ifs_in(nlohmann::json words, const Platform& platform, const std::string& folder) {
  if (words.is_object() && words.contains("placement") && words["placement"].is_string()) {
    const auto placement = words["placement"].get<std::string>();
    for (const char* what : {"node", "device"}) {
      const std::string start = fmt::format("{}s:", what);
      if (!placement.starts_with(start)) continue;
      const auto path = std::filesystem::path(folder) / placement.substr(start.size());
      const bool nodes = std::string(what) == "node";
      const std::vector<std::int64_t> list =
          read_placement_list(path.string(), what, nodes ? platform.nodes : platform.devices());
      words["placement"] = fmt::format("{}s={}", what, words_of(list));
    }
  }
  return read_what_ifs(JsonObject(words, "the what-ifs"));
}

}  // namespace fourfold::inline scaling::inline words
