// Scripts for the schedulers of clusters: a template with the campaign's words put in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fourfold {

struct Launcher {
  const char* name;    // "slurm": its template is scaling/jobs/templates/NAME.sh
  const char* ending;  // of the script that is written
  const char* submit;  // the command that starts it
};

const std::vector<Launcher>& launchers();
// Throws std::runtime_error that names the nearest known one.
const Launcher& launcher_named(const std::string& name);

// The path of the template that comes with Fourfold.
std::string template_of(const Launcher& launcher);

// The template with each {{word}} replaced. Throws std::runtime_error that names a word that is not
// known, and one that the template must have and lacks: "command".
std::string filled(const std::string& text, const std::map<std::string, std::string>& words);

// A word as a shell takes it for one.
std::string shell_word(const std::string& word);

}  // namespace fourfold
