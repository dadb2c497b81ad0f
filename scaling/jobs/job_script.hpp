// Scripts for the schedulers of clusters: a template with the campaign's words put in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fourfold::inline scaling::inline jobs {

struct Launcher {
  const char* name;             // "slurm"
  const char* submit;           // the command that starts the script of an array
  const char* submit_measured;  // and that of a job of several ranks
  std::size_t longest_name;     // of a job, in letters
  // How the line begins that makes an array, where an array of one job is refused; empty: it is
  // not.
  const char* array = "";
};

// What a script starts: slices of the points that are projected, or trainings on so many ranks.
enum class JobKind : std::uint8_t { slices, measured };

const std::vector<Launcher>& launchers();
// Throws std::runtime_error that names the nearest known one.
const Launcher& launcher_named(const std::string& name);

// The path of the template that comes with Fourfold: scaling/jobs/templates/NAME.sh, and
// NAME-measured.sh.
std::string template_of(const Launcher& launcher, JobKind kind);

// The template with each {{word}} replaced: by a word for a shell, which is what it stands for,
// whatever its letters; and on a line that begins with #, which a scheduler may read, only by what
// no scheduler takes for anything else. "command" and "quoted_command" are commands for a shell,
// and put in as they are. Throws std::runtime_error that names a word that is not known or cannot
// stand where it does, and one that the template must have and lacks: "command".
std::string filled(const std::string& text, const std::map<std::string, std::string>& words);

// The template without the line that makes an array, where the launcher takes none of one job.
std::string for_slices(const std::string& text, const Launcher& launcher, std::int64_t slices);

// A name as the scheduler takes it for a job whose template puts `behind` letters behind it: a
// letter first, letters, digits and _.- in the place of others, not too long.
std::string job_name(const std::string& text, const Launcher& launcher, std::size_t behind = 0);

}  // namespace fourfold::inline scaling::inline jobs
