// Walks a file along the table of keys; see check_keys.hpp.
#include "platforms/file/check_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "platforms/file/key.hpp"
#include "support/complaint.hpp"
#include "support/nearest_name.hpp"
#include "support/toml_table.hpp"

namespace fourfold::inline platforms::inline file {
namespace {

struct Names {
  std::vector<std::string> known;
  std::vector<std::string> required;

  void add(const std::string& name, Presence presence) {
    known.push_back(name);
    if (presence == Presence::required) required.push_back(name);
  }
};

class KeyCheck {
 public:
  // A kind of network that is missing or unknown leaves the keys of the network alone.
  explicit KeyCheck(const toml::table& file) : file_(file) {
    kind_ = file["network"]["kind"].value_or(std::string());
    const std::vector<std::string> kinds = network_kinds();
    kind_known_ = std::find(kinds.begin(), kinds.end(), kind_) != kinds.end();
    for (const KeyTable& table : platform_keys()) {
      if (belongs(table)) tables_.push_back(&table);
    }
  }

  std::vector<std::pair<unsigned, std::string>> problems() {
    for (const KeyTable* table : tables_) check(*table);
    if (!kind_known_) check_kind();
    std::stable_sort(problems_.begin(), problems_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    return problems_;
  }

 private:
  bool belongs(const KeyTable& table) const {
    return table.network.empty() ? true : kind_known_ && table.network == kind_;
  }

  const toml::node* at(const std::string& path) const {
    return path.empty() ? &file_ : file_.at_path(path).node();
  }

  // Missing tables are named by the table around them.
  void check(const KeyTable& keys) {
    const toml::node* node = at(keys.path);
    if (node == nullptr || !node->is_table()) return;
    const toml::table& table = *node->as_table();
    if (!keys.rows.empty()) {
      check_list(keys, table);
      return;
    }
    Names names;
    for (const Key& key : keys.keys) names.add(key.name, key.presence);
    for (const KeyTable* inner : tables_) {
      const std::string prefix = keys.path.empty() ? "" : keys.path + ".";
      if (inner->path.empty() || !inner->path.starts_with(prefix)) continue;
      const std::string name = inner->path.substr(prefix.size());
      if (name.find('.') == std::string::npos) names.add(name, inner->presence);
    }
    if (keys.path.empty() && !kind_known_) names.add("network", Presence::required);
    compare(table, keys.path, std::move(names));
    for (const Key& key : keys.keys) {
      if (key.form != KeyForm::number) continue;
      const toml::node* fact = table.get(key.name);
      if (fact == nullptr || !fact->is_table()) continue;
      compare(*fact->as_table(), full(keys.path, key.name),
              {{"value", "source", "unconfirmed"}, {}});
    }
  }

  void check_list(const KeyTable& keys, const toml::table& list) {
    compare(list, keys.path, {{"source", "unconfirmed", "entries"}, {"entries"}});
    const toml::array* entries = list["entries"].as_array();
    if (entries == nullptr) return;
    for (const toml::node& entry : *entries) {
      if (!entry.is_table()) continue;
      Names names;
      for (const Key& key : keys.keys) names.add(key.name, key.presence);
      names.add("source", Presence::optional);
      names.add("unconfirmed", Presence::optional);
      compare(*entry.as_table(), keys.path, std::move(names));
    }
  }

  void compare(const toml::table& table, const std::string& path, Names names) {
    std::erase_if(names.required, [&](const std::string& name) { return table.contains(name); });
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (std::find(names.known.begin(), names.known.end(), name) != names.known.end()) continue;
      problems_.emplace_back(
          node.source().begin.line,
          fmt::format("unknown key \"{}\"{}", full(path, name), did_you_mean(name, names.known)));
      std::erase(names.required, nearest_name(name, names.known));
    }
    for (const std::string& name : names.required) {
      problems_.emplace_back(table.source().begin.line,
                             fmt::format("\"{}\" is missing", full(path, name)));
    }
  }

  void check_kind() {
    const toml::node* network = file_.get("network");
    if (network == nullptr || !network->is_table()) return;
    const toml::node* kind = network->as_table()->get("kind");
    problems_.emplace_back((kind == nullptr ? network : kind)->source().begin.line,
                           kind == nullptr ? "\"network.kind\" is missing"
                                           : fmt::format("network.kind cannot be \"{}\"{}", kind_,
                                                         did_you_mean(kind_, network_kinds())));
  }

  static std::string full(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
  }

  const toml::table& file_;
  std::string kind_;
  bool kind_known_ = false;
  std::vector<const KeyTable*> tables_;
  std::vector<std::pair<unsigned, std::string>> problems_;  // by line
};

}  // namespace

void check_keys(const std::string& path, const toml::table& file) {
  const auto problems = KeyCheck(file).problems();
  if (problems.empty()) return;
  if (problems.size() == 1) {
    refuse_line(path, problems.front().first, problems.front().second);
  }
  std::vector<std::string> lines;
  for (const auto& [line, problem] : problems) {
    lines.push_back(fmt::format("  line {}: {}", line, problem));
  }
  lines.emplace_back("`fourfold platforms template` prints a file that has all keys");
  throw SeveralFaults(fmt::format("{}: {} keys are unknown or missing", path, problems.size()),
                      lines);
}

}  // namespace fourfold::inline platforms::inline file
