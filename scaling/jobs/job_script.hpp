// Scripts for the schedulers of clusters: a template with the campaign's words put in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fourfold {

struct Launcher {
  const char* name;             // "slurm"
  const char* submit;           // the command that starts the script of an array
  const char* submit_measured;  // and that of a job of several ranks
};

// What a script starts: slices of the points that are projected, or trainings on so many ranks.
enum class JobKind : std::uint8_t { slices, measured };

const std::vector<Launcher>& launchers();
// Throws std::runtime_error that names the nearest known one.
const Launcher& launcher_named(const std::string& name);

// The path of the template that comes with Fourfold: scaling/jobs/templates/NAME.sh, and
// NAME-measured.sh.
std::string template_of(const Launcher& launcher, JobKind kind);

// The template with each {{word}} replaced. Throws std::runtime_error that names a word that is not
// known, and one that the template must have and lacks: "command".
std::string filled(const std::string& text, const std::map<std::string, std::string>& words);

// A word as a shell takes it for one.
std::string shell_word(const std::string& word);

}  // namespace fourfold
