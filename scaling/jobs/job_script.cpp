// Fills templates; see job_script.hpp.
#include "scaling/jobs/job_script.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "support/nearest_name.hpp"

namespace fourfold {

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
    result += found->second;
    begin = close + 2;
  }
}

std::string shell_word(const std::string& word) {
  std::string quoted = "'";
  for (char letter : word) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

}  // namespace fourfold
