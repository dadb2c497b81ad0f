// Lines of ranks, and what is wrong with them; see log_ranks.hpp.
#include "scaling/calibrate/log_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "scaling/calibrate/log_line.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

[[noreturn]] void fail(const std::string& path, std::int64_t line, const std::string& what) {
  throw std::runtime_error(fmt::format("{}:{}: {}", path, line, what));
}

// 0 to n - 1, each once, each on a device of its own.
void check_ranks(const std::vector<RankLine>& ranks, const std::string& path) {
  std::map<std::int64_t, std::int64_t> lines;                           // by rank
  std::map<std::pair<std::string, std::string>, std::int64_t> devices;  // ranks by host and device
  for (const RankLine& one : ranks) {
    const auto [first, fresh] = lines.emplace(one.rank, one.line);
    if (!fresh) {
      fail(path, one.line,
           fmt::format("rank {} stands here and in line {}; a run names each rank once: keep the "
                       "title of each run, or give each a file",
                       one.rank, first->second));
    }
    const auto [other, own] = devices.emplace(std::pair{one.host, one.device}, one.rank);
    if (!own) {
      fail(
          path, one.line,
          fmt::format("ranks {} and {} are both on device {} of {}: two ranks share a device, or "
                      "two hosts have one name; give a run with a device a rank, and a name a host",
                      other->second, one.rank, one.device, one.host));
    }
  }
  const std::int64_t last = lines.rbegin()->first;
  if (last + 1 == std::ssize(lines)) return;
  std::int64_t missing = 0;
  while (lines.contains(missing)) ++missing;
  fail(path, ranks.front().line,
       fmt::format("of the ranks from here on, 0 to {}, rank {} is missing; give the whole log",
                   last, missing));
}

}  // namespace

bool read_rank_line(const std::string& text, std::int64_t line, std::vector<RankLine>& ranks) {
  for (std::size_t at = text.find("Rank "); at != std::string::npos;
       at = text.find("Rank ", at + 1)) {
    const LogWords words = words_of(std::string_view(text).substr(at));
    const auto behind = [&](const char* name) {
      const auto found = std::ranges::find(words, name);
      return found == words.end() || found + 1 == words.end() ? std::string() : *(found + 1);
    };
    const std::string rank = behind("Rank"), group = behind("Group"), host = behind("on");
    std::string device = behind("device");
    if (!is_count(rank) || rank.size() > 9 || behind("Pid").empty() || host.empty() ||
        !is_count(device)) {
      continue;
    }
    const auto address = std::ranges::find_if(words, [](const std::string& word) {
      return word.starts_with('[') && word.ends_with(']');
    });
    if (address != words.end()) device += ' ' + *address;
    const bool grouped = is_count(group) && group.size() < 10;
    ranks.push_back({line, std::stoll(rank), grouped ? std::stoll(group) : 0, host, device});
    return true;
  }
  return false;
}

LogGroup group_of(const std::vector<RankLine>& ranks, const std::string& path) {
  check_ranks(ranks, path);
  std::map<std::int64_t, std::map<std::string, std::int64_t>> groups;  // ranks by host
  std::map<std::string, std::set<std::int64_t>> at_once;               // groups by host
  for (const RankLine& one : ranks) {
    ++groups[one.group][one.host];
    at_once[one.host].insert(one.group);
  }
  const auto& [first, hosts] = *groups.begin();
  const LogGroup found{std::ssize(hosts), hosts.begin()->second,
                       std::ssize(at_once.begin()->second)};
  for (const auto& [group, its] : groups) {
    for (const auto& [host, count] : its) {
      if (count == found.in_each) continue;
      throw std::runtime_error(
          fmt::format("{}: {} has {} ranks and {} has {}; give a run with as many on each node",
                      path, hosts.begin()->first, found.in_each, host, count));
    }
    if (std::ssize(its) == found.nodes) continue;
    throw std::runtime_error(fmt::format(
        "{}: group {} is on {} nodes and group {} on {}; give a run whose groups are alike", path,
        first, found.nodes, group, its.size()));
  }
  for (const auto& [host, here] : at_once) {
    if (std::ssize(here) == found.at_once) continue;
    throw std::runtime_error(
        fmt::format("{}: {} is in {} groups and {} in {}; give a run whose nodes are alike", path,
                    at_once.begin()->first, found.at_once, host, here.size()));
  }
  return found;
}

}  // namespace fourfold::inline scaling::inline calibrate
