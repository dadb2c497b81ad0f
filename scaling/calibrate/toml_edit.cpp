// Statements by their brackets and quotes; see toml_edit.hpp.
#include "scaling/calibrate/toml_edit.hpp"

#include <algorithm>
#include <sstream>

namespace fourfold::inline scaling::inline calibrate {
namespace {

class Scanner {
 public:
  explicit Scanner(const std::string& text) : text_(text) {}

  std::vector<TomlStatement> statements() {
    std::vector<TomlStatement> all;
    TomlPath table;
    for (skip_gap(); at_ < text_.size(); skip_gap()) {
      TomlStatement one;
      one.begin = at_;
      if (text_[at_] == '[') {
        while (at_ < text_.size() && text_[at_] == '[') ++at_;
        one.path = one.table = table = key(']');
        pass_line();
        one.value = at_;
      } else {
        one.table = one.path = table;
        const TomlPath own = key('=');
        one.path.insert(one.path.end(), own.begin(), own.end());
        at_ = std::min(at_ + 1, text_.size());
        one.value = at_;
        pass_line();
      }
      one.end = at_;
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  bool at(const char* word) const {
    return text_.compare(at_, std::string(word).size(), word) == 0;
  }

  // Blanks, empty lines and comments.
  void skip_gap() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::string(" \t\r\n").find(text_[at_]) != std::string::npos) {
        ++at_;
      } else {
        return;
      }
    }
  }

  // A string, whose quotes may be three in a row.
  void pass_string() {
    const char quote = text_[at_];
    const std::string three(3, quote), end = at(three.c_str()) ? three : std::string(1, quote);
    at_ += end.size();
    while (at_ < text_.size() && !at(end.c_str()))
      at_ += quote == '"' && text_[at_] == '\\' ? 2 : 1;
    at_ += end.size();
    while (end.size() == 3 && at_ < text_.size() && text_[at_] == quote) ++at_;  // """a"""""
    at_ = std::min(at_, text_.size());
  }

  // To the end of the line on which no bracket is open.
  void pass_line() {
    int open = 0;
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (letter == '"' || letter == '\'') {
        pass_string();
        continue;
      }
      if (letter == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ == text_.size()) return;
      if (letter == '[' || letter == '{') ++open;
      if ((letter == ']' || letter == '}') && open > 0) --open;
      if (text_[at_++] == '\n' && open == 0) return;
    }
  }

  // The parts of a key up to a sign, at which it stays.
  TomlPath key(char end) {
    TomlPath parts(1);
    for (; at_ < text_.size() && text_[at_] != end && text_[at_] != '\n'; ++at_) {
      const char letter = text_[at_];
      if (letter == '.') {
        parts.emplace_back();
      } else if (letter == '"' || letter == '\'') {
        const std::size_t begin = at_;
        pass_string();
        parts.back() = text_.substr(begin + 1, at_ - begin - 2);
        --at_;
      } else if (letter != ' ' && letter != '\t') {
        parts.back() += letter;
      }
    }
    return parts;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

bool begins_with(const TomlPath& path, const TomlPath& beginning) {
  return path.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), path.begin());
}

}  // namespace

std::vector<TomlStatement> toml_statements(const std::string& text) {
  return Scanner(text).statements();
}

std::string under_header(const toml::table& whole, const std::string& table,
                         const std::string& key) {
  const toml::table* const below = whole[table][key].as_table();
  if (below == nullptr) return "";
  std::ostringstream text;
  text << "\n[" << table << '.' << key << "]\n";
  for (const auto& [name, node] : *below) {
    text << std::string(name.str()) << " = ";
    node.visit([&](const auto& value) { text << value; });
    text << '\n';
  }
  return text.str();
}

std::string with_tables(const std::string& text, const std::string& table,
                        const std::string& tables, const std::vector<std::string>& kept) {
  const toml::table whole = toml::parse(text);
  std::string anew;
  for (const std::string& key : kept) {
    const TomlPath path{table, key};
    const std::vector<TomlStatement> all = toml_statements(text);
    const bool stays = std::ranges::any_of(
        all, [&](const TomlStatement& one) { return begins_with(one.table, path); });
    if (!stays) anew += under_header(whole, table, key);
  }
  const auto goes = [&](const TomlStatement& one) {
    if (!begins_with(one.path, {table})) return false;
    return std::ranges::none_of(kept, [&](const std::string& key) {
      return begins_with(one.table, {table, key});
    });
  };
  std::string result;
  std::size_t done = 0;
  bool removing = false;
  std::optional<std::size_t> place;  // in the result: no key of another table may come behind it
  bool waiting = false;              // something was taken out that stood above the first header
  for (const TomlStatement& one : toml_statements(text)) {
    const bool out = goes(one);
    if (!(out && removing)) result.append(text, done, one.begin - done);
    if (!place && one.is_header() && (out || waiting)) place = result.size();
    if (out) waiting = true;
    if (!out) result.append(text, one.begin, one.end - one.begin);
    removing = out;
    done = one.end;
  }
  result.append(text, done);
  if (place) {
    const bool apart = result.compare(*place, 1, "\n") == 0;
    return result.insert(*place, tables + anew + (apart ? "" : "\n"));
  }
  if (!result.empty() && !result.ends_with('\n')) result += '\n';
  return result + '\n' + tables + anew;
}

std::optional<std::string> with_value(const std::string& text, const TomlPath& path,
                                      const std::string& value) {
  for (const TomlStatement& one : toml_statements(text)) {
    if (one.path != path || one.is_header()) continue;
    return text.substr(0, one.value) + ' ' + value + '\n' + text.substr(one.end);
  }
  return std::nullopt;
}

}  // namespace fourfold::inline scaling::inline calibrate
