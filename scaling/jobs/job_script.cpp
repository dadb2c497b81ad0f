// Fills templates; see job_script.hpp.
#include "scaling/jobs/job_script.hpp"

#include <fmt/format.h>

#include <cctype>
#include <stdexcept>
#include <string_view>

#include "support/nearest_name.hpp"
#include "support/shell_word.hpp"

namespace fourfold::inline scaling::inline jobs {

const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> all{
      {"slurm", "sbatch", "sbatch"}, {"flux", "bash", "flux batch"}, {"pbs", "qsub", "qsub"}};
  return all;
}

const Launcher& launcher_named(const std::string& name) {
  std::vector<std::string> known;
  for (const Launcher& launcher : launchers()) {
    if (name == launcher.name) return launcher;
    known.emplace_back(launcher.name);
  }
  throw std::runtime_error("unknown launcher '" + name + "'" + one_of_these(name, known));
}

std::string template_of(const Launcher& launcher, JobKind kind) {
  return fmt::format("{}/scaling/jobs/templates/{}{}.sh", FOURFOLD_SOURCE_DIR, launcher.name,
                     kind == JobKind::measured ? "-measured" : "");
}

namespace {

bool is_plain(const std::string& value) {
  return !value.empty() && value.find_first_not_of(plain_letters) == std::string::npos;
}

// Schedulers read the lines of theirs each in its own way, but blanks between quotes alike.
bool suits_scheduler(const std::string& value) {
  return value.find_first_not_of(std::string(plain_letters) + ' ') == std::string::npos;
}

bool is_code(const std::string& word) {
  return word == "command" || word == "quoted_command";
}

// Whether a quote is open at the end of what stands on the line so far.
bool opens_quote(std::string_view line) {
  char open = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && open != '\'') {
      ++i;
    } else if (open == '\0' && (line[i] == '\'' || line[i] == '"')) {
      open = line[i];
    } else if (line[i] == open) {
      open = '\0';
    }
  }
  return open != '\0';
}

// What a word becomes behind `before`, the beginning of its line.
std::string put_in(const std::string& word, const std::string& value, std::string_view before) {
  if (is_plain(value)) return value;
  if (before.starts_with('#')) {
    if (suits_scheduler(value)) return shell_word(value);
    throw std::runtime_error(fmt::format(
        "{{{{{}}}}} is '{}', but on a line with # a job script takes letters, digits, blanks and "
        "/._+-,:=@ only: name another, for a folder with --output",
        word, value));
  }
  if (opens_quote(before)) {
    throw std::runtime_error(fmt::format(
        "the template has {{{{{}}}}} between quotes, and it has its own: leave them out", word));
  }
  return is_code(word) ? value : shell_word(value);
}

}  // namespace

std::string filled(const std::string& text, const std::map<std::string, std::string>& words) {
  std::vector<std::string> known;
  for (const auto& [word, value] : words) known.push_back(word);
  if (text.find("command}}") == std::string::npos) {
    throw std::runtime_error("the template lacks {{command}}, which answers the points");
  }
  std::string result;
  for (std::size_t begin = 0;;) {
    const std::size_t open = text.find("{{", begin);
    const std::size_t close = text.find("}}", open);
    result.append(text, begin, open == std::string::npos ? open : open - begin);
    if (open == std::string::npos) return result;
    if (close == std::string::npos) throw std::runtime_error("the template lacks a }}");
    const std::string word = text.substr(open + 2, close - open - 2);
    const auto found = words.find(word);
    if (found == words.end()) {
      throw std::runtime_error("the template has an unknown {{" + word + "}}" +
                               did_you_mean(word, known));
    }
    const std::size_t line = text.rfind('\n', open) + 1;  // 0 on the first
    result += put_in(word, found->second, std::string_view(text).substr(line, open - line));
    begin = close + 2;
  }
}

std::string job_name(const std::string& text) {
  constexpr std::size_t longest = 60;
  std::string name = text.substr(0, longest);
  for (char& letter : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ||
                       letter == '-' || letter == '.';
    if (!plain || (&letter == name.data() && letter == '-')) letter = '_';
  }
  return name.empty() ? "campaign" : name;
}

}  // namespace fourfold::inline scaling::inline jobs
