// Fills templates; see job_script.hpp.
#include "scaling/jobs/job_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "support/nearest_name.hpp"
#include "support/shell_word.hpp"

namespace fourfold::inline scaling::inline jobs {

const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> all{
      {"slurm", "sbatch", "sbatch", 60},
      {"flux", "bash", "flux batch", 60},
      {"pbs", "qsub", "qsub", 15, "#PBS -J "},  // 236 in later ones
      {"lsf", "bsub <", "bsub <", 60}};
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

// What a shell reads a place of a script as.
enum class Place : std::uint8_t { bare, comment, quotes, here_document };

// Of what stands behind `before`, the whole script so far. Whatever follows a here-document may be
// a part of it.
Place place_behind(std::string_view before) {
  char open = '\0';
  bool escapes = true;  // whether a backslash means something between these quotes
  bool commented = false, here = false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const char letter = before[i];
    const bool begins =
        i == 0 || std::string_view(" \t\n;&|()").find(before[i - 1]) != std::string_view::npos;
    if (commented) {
      commented = letter != '\n';
    } else if (letter == '\\' && (open == '\0' || escapes)) {
      ++i;
    } else if (open != '\0') {
      if (letter == open) open = '\0';
    } else if (letter == '\'' || letter == '"') {
      open = letter;
      escapes = letter == '"' || (i > 0 && before[i - 1] == '$');
    } else if (letter == '`') {
      open = letter;
      escapes = true;
    } else if (letter == '#' && begins) {
      commented = true;
    } else if (before.substr(i).starts_with("<<")) {
      here = true;
    }
  }
  if (commented) return Place::comment;
  if (open != '\0') return Place::quotes;
  return here ? Place::here_document : Place::bare;
}

// What a word becomes behind `before`, the script so far.
std::string put_in(const std::string& word, const std::string& value, std::string_view before) {
  if (is_plain(value)) return value;
  const Place place = place_behind(before);
  if (place == Place::bare) return is_code(word) ? value : shell_word(value);
  if (suits_scheduler(value)) return place == Place::comment ? shell_word(value) : value;
  if (place == Place::comment) {
    throw std::runtime_error(fmt::format(
        "{{{{{}}}}} is '{}', but on a line with # a job script takes letters, digits, blanks and "
        "/._+-,:=@ only: name another, for a folder with --output",
        word, value));
  }
  throw std::runtime_error(fmt::format("the template has {{{{{}}}}} ", word) +
                           (place == Place::quotes
                                ? "between quotes, and it has its own: leave them out"
                                : "behind a here-document (<<), which a shell reads in its own "
                                  "way: put it before, or use "
                                  "names of letters, digits, blanks and /._+-,:=@ only"));
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
    result += put_in(word, found->second, std::string_view(text).substr(0, open));
    begin = close + 2;
  }
}

std::string for_slices(const std::string& text, const Launcher& launcher, std::int64_t slices) {
  const std::string array = launcher.array;
  const std::size_t begin = text.find('\n' + array);
  if (slices > 1 || array.empty() || begin == std::string::npos) return text;
  return text.substr(0, begin) + text.substr(std::min(text.find('\n', begin + 1), text.size()));
}

std::string job_name(const std::string& text, const Launcher& launcher, std::size_t behind) {
  const auto is_letter = [](char letter) {
    return std::isalpha(static_cast<unsigned char>(letter)) != 0;
  };
  std::string name = text.empty() ? "campaign" : text;
  if (!is_letter(name.front())) name = 'j' + name;
  name.resize(std::min(name.size(), launcher.longest_name - behind));
  for (char& letter : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ||
                       letter == '-' || letter == '.';
    if (!plain) letter = '_';
  }
  return name;
}

}  // namespace fourfold::inline scaling::inline jobs
