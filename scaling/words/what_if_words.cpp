// Placement lists become words that need no file; see what_if_words.hpp.
#include "scaling/words/what_if_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

#include "scaling/words/host_list.hpp"
#include "scaling/words/output.hpp"
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

// Whether the list's first word begins like a name.
bool names_hosts(const std::string& text) {
  for (const TextLine& line : lines_of(text)) {
    const std::string word = content(line.text);
    if (!word.empty()) return std::isalpha(static_cast<unsigned char>(word[0])) != 0;
  }
  return false;
}

// "FILE,of=ALL", "FILE,first=HOST"; or a file whose name ends so.
struct ListWords {
  std::string file, of, first;
};

ListWords list_words(const std::string& words) {
  for (const std::string start : {",of=", ",first="}) {
    const std::size_t at = words.rfind(start);
    if (at == std::string::npos) continue;
    const std::string value = words.substr(at + start.size());
    return start == ",of=" ? ListWords{words.substr(0, at), value, ""}
                           : ListWords{words.substr(0, at), "", value};
  }
  return {words, "", ""};
}

// Hosts as nodes of the machine. Which host is its first is said where nobody typed it.
std::vector<std::int64_t> nodes_named(const std::string& text, const std::string& where,
                                      const ListWords& typed, const std::filesystem::path& folder,
                                      std::int64_t limit) {
  const std::vector<std::string> hosts = host_names(text, where);
  std::vector<std::string> all;
  if (!typed.of.empty()) {
    const std::string path = (folder / typed.of).string();
    all = host_names(read_text_file(path, "the list of all hosts"), path);
  }
  const std::vector<std::int64_t> nodes = nodes_of_hosts(hosts, all, typed.first, where);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] < limit) continue;
    throw std::runtime_error(fmt::format("{}: {} would be node {}; the machine has 0 to {}", where,
                                         hosts[i], nodes[i], limit - 1));
  }
  if (typed.of.empty() && typed.first.empty()) {
    const auto least = std::ranges::min_element(nodes) - nodes.begin();
    const std::string note = fmt::format(
        "note: {}: {} is taken for the machine's node 0; nodes:FILE,first=HOST or "
        "nodes:FILE,of=ALL say otherwise",
        where, hosts[static_cast<std::size_t>(least)]);
    say_once(note);
  }
  return nodes;
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
    const auto listed = [&](const std::string& what, const std::vector<std::int64_t>& list) {
      words["placement"] = fmt::format("{}s={}", what, words_of(list));
    };
    if (placement.starts_with("devices:")) {
      const auto path = std::filesystem::path(folder) / placement.substr(8);
      listed("device", read_placement_list(path.string(), "device", platform.devices()));
    } else if (placement.starts_with("nodes:")) {
      const ListWords typed = list_words(placement.substr(6));
      const std::string path = (std::filesystem::path(folder) / typed.file).string();
      const std::string text = read_text_file(path, "the placement list");
      if (!names_hosts(text) && !(typed.of + typed.first).empty()) {
        throw std::runtime_error(path + " names no hosts: of= and first= have nothing to count");
      }
      listed("node", names_hosts(text) ? nodes_named(text, path, typed, folder, platform.nodes)
                                       : read_placement_list(path, "node", platform.nodes));
    } else if (placement.starts_with("nodes=") && names_hosts(placement.substr(6))) {
      listed("node", nodes_named(placement.substr(6), "--placement", {}, folder, platform.nodes));
    }
  }
  return read_what_ifs(JsonObject(words, "the what-ifs"));
}

}  // namespace fourfold::inline scaling::inline words
