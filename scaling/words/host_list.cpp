// Names are expanded and told apart by their last number; see host_list.hpp.
#include "scaling/words/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <stdexcept>

#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline words {
namespace {

constexpr std::size_t most_hosts = 1'000'000;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", where, what));
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 10 &&
         std::ranges::all_of(text, [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

// At commas that stand in no brackets.
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts(1);
  bool inside = false;
  for (const char letter : list) {
    if (letter == '[' || letter == ']') inside = letter == '[';
    if (letter == ',' && !inside) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  std::erase(parts, "");
  return parts;
}

// "nid[001-003,7]" as nid001, nid002, nid003, nid7; several brackets one after the other.
std::vector<std::string> expanded(const std::string& name, const std::string& where) {
  const std::size_t open = name.find('['), close = name.find(']');
  if (open == std::string::npos && close == std::string::npos) return {name};
  if (open == std::string::npos || close == std::string::npos || close < open) {
    fail(where, fmt::format("'{}' has a bracket without its other one", name.substr(0, 60)));
  }
  std::vector<std::string> all;
  for (const std::string& range : parts_of(name.substr(open + 1, close - open - 1))) {
    const std::string from = range.substr(0, range.find('-'));
    const std::string to = range.substr(std::min(range.find('-') + 1, range.size()));
    const std::string last = range.find('-') == std::string::npos ? from : to;
    if (!is_number(from) || !is_number(last) || std::stoll(from) > std::stoll(last)) {
      fail(where,
           fmt::format("'{}' in brackets is no range of numbers, as 001-064", range.substr(0, 40)));
    }
    for (std::int64_t number = std::stoll(from); number <= std::stoll(last); ++number) {
      const std::string written = fmt::format("{:0{}}", number, from.size());
      for (const std::string& rest : expanded(name.substr(close + 1), where)) {
        all.push_back(name.substr(0, open) + written + rest);
      }
      if (all.size() > most_hosts) fail(where, "more than a million hosts");
    }
  }
  return all;
}

// Its last number, and all but that; -1 without one.
std::pair<std::int64_t, std::string> numbered(const std::string& name) {
  const std::size_t end = name.find_last_of("0123456789") + 1;
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0) --begin;
  const std::string number = name.substr(begin, end - begin);
  if (!is_number(number)) return {-1, name};
  return {std::stoll(number), name.substr(0, begin) + "#" + name.substr(end)};
}

}  // namespace

std::vector<std::string> host_names(const std::string& text, const std::string& where) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const TextLine& line : lines_of(text)) {
    std::string word = line.text.substr(0, line.text.find('#'));
    word.erase(0, word.find_first_not_of(" \t\r"));
    word.erase(std::min(word.find_first_of(" \t\r"), word.size()));
    const std::string at = fmt::format("{}, line {}", where, line.number);
    for (const std::string& part : parts_of(word)) {
      for (std::string name : expanded(part.substr(0, part.find(':')), at)) {
        if (name.find_first_not_of("0123456789.") == std::string::npos) {
          fail(at, fmt::format("'{}' is no host name", name.substr(0, 40)));
        }
        name.erase(std::min(name.find('.'), name.size()));
        if (known.insert(name).second) names.push_back(name);
      }
    }
  }
  if (names.empty()) fail(where, "the list names no host");
  return names;
}

std::vector<std::int64_t> nodes_of_hosts(const std::vector<std::string>& hosts,
                                         const std::vector<std::string>& all,
                                         const std::string& first, const std::string& where) {
  std::vector<std::int64_t> nodes;
  if (!all.empty()) {
    std::map<std::string, std::int64_t> places;
    for (const std::string& name : all) places.try_emplace(name, std::ssize(places));
    for (const std::string& name : hosts) {
      const auto found = places.find(name);
      if (found == places.end()) fail(where, name + " is none of the machine's hosts");
      nodes.push_back(found->second);
    }
    return nodes;
  }
  const std::string& like = first.empty() ? hosts.front() : first;
  for (const std::string& name : hosts) {
    const auto [number, stem] = numbered(name);
    if (number < 0) {
      fail(where,
           fmt::format("host {} has no number that tells which node it is; give all hosts of the "
                       "machine in their order: nodes:FILE,of=ALL",
                       name));
    }
    if (stem != numbered(like).second) {
      fail(where, fmt::format("{} and {} differ in more than their last number, so that nobody can "
                              "tell which nodes they are; give all hosts of the machine in their "
                              "order: nodes:FILE,of=ALL",
                              like, name));
    }
    nodes.push_back(number);
  }
  const std::int64_t start =
      first.empty() ? *std::ranges::min_element(nodes) : numbered(first).first;
  for (std::int64_t& node : nodes) {
    if (node < start)
      fail(where, fmt::format("a host has a lower number than {}, the first", like));
    node -= start;
  }
  return nodes;
}

}  // namespace fourfold::inline scaling::inline words
