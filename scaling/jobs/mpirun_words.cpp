// Line by line; see mpirun_words.hpp. The notices are those of Open MPI 4.1 (help-mpi-api.txt,
// help-orterun.txt), as seen.
#include "scaling/jobs/mpirun_words.hpp"

#include <array>
#include <regex>
#include <sstream>
#include <utility>

#include "support/ranks_started.hpp"

namespace fourfold::inline scaling::inline jobs {
namespace {

constexpr std::string_view of_ours = "fourfold:";
constexpr std::array notices{
    "MPI_ABORT was invoked on rank [0-9]+ in communicator .*",
    "with errorcode -?[0-9]+\\.",
    "NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes\\.",
    "You may or may not see output from other processes, depending on",
    "exactly when Open MPI kills them\\.",
    "Primary job  terminated normally, but [0-9]+ process(es)? returned",
    "a non-zero exit code\\. Per user-direction, the job has been aborted\\.",
    "mpirun detected that one or more processes exited with non-zero status, thus causing",
    "the job to be terminated\\. The first process to do so was:",
    "  Process name: \\[\\[[0-9]+,[0-9]+\\],[0-9]+\\]",
    "  Exit code:    [0-9]+",
    "mpirun noticed that process rank [0-9]+ with PID [0-9]+ on node .* exited on signal .*",
    "mpirun: Forwarding signal [0-9]+ to job",
    // Two ranks that abort at once, whose notices mpirun fails to add up.
    "\\[.*\\] ORTE_ERROR_LOG: .* in file .*/show_help\\.c .*",
    // A rank that reads from the memory of one that has died (ESRCH) or let go of it (EFAULT).
    "\\[.*\\] Read -1, expected [0-9]+, errno = (3|14)",
    "\\[.*\\] [0-9]+ more process(es)? (has|have) sent help message help-mpi-api\\.txt / mpi-abort",
    "\\[.*\\] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all help / error messages",
};

std::regex any_notice() {
  std::string pattern;
  for (const char* notice : notices) pattern.append(pattern.empty() ? "" : "|").append(notice);
  return std::regex(pattern);
}

bool is_notice(const std::string& line) {
  static const std::regex pattern = any_notice();
  return std::regex_match(line, pattern);
}

bool is_frame(const std::string& line) {
  return line.size() == 74 && line.find_first_not_of('-') == std::string::npos;
}

std::optional<RankDeath> death_in(const std::string& line) {
  static const std::regex pattern(
      "mpirun noticed that process rank ([0-9]+) .* exited on signal ([0-9]+).*");
  std::smatch parts;
  if (!std::regex_match(line, parts, pattern)) return std::nullopt;
  return RankDeath{std::stoll(parts[1]), std::stoi(parts[2])};
}

}  // namespace

std::string MpirunWords::own(std::string_view text) {
  std::string lines;
  begun_ += text;
  for (std::size_t end = 0; (end = begun_.find('\n')) != std::string::npos;) {
    lines += own_line(begun_.substr(0, end));
    begun_.erase(0, end + 1);
  }
  return lines;
}

std::string MpirunWords::rest() {
  if (!not_started().empty()) return std::exchange(begun_, "");
  lost_words_ = false;  // others speak
  const std::string failed_call = std::exchange(failed_call_, "");
  return std::exchange(before_, "") + std::exchange(held_, "") + std::exchange(begun_, "") +
         (death_ || rank_spoke_ ? "" : failed_call);
}

// The first paragraph between frames, or the first line of what has none.
std::string MpirunWords::not_started() const {
  constexpr std::size_t most_letters = 400;
  if (started_) return "";
  std::istringstream lines(before_);
  std::string sentence, first_line;
  bool in_frame = false, speaks = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (is_frame(line)) {
      speaks = true;
      if (in_frame && !sentence.empty()) break;
      in_frame = !in_frame;
    } else if (begin != std::string::npos) {
      speaks = speaks || line.find("ORTE_ERROR_LOG") != std::string::npos ||
               line.find("PMIX ERROR") != std::string::npos ||
               line.find("] *** An error occurred in ") != std::string::npos;
      if (first_line.empty()) first_line = line.substr(begin);
      if (in_frame) sentence += (sentence.empty() ? "" : " ") + line.substr(begin);
    }
  }
  const bool others_speak = rank_spoke_ || !failed_call_.empty() || !before_.empty();
  if (!speaks) return lost_words_ && !others_speak ? "it has lost the words that say why" : "";
  if (sentence.empty()) sentence = first_line;
  return sentence.size() <= most_letters ? sentence : sentence.substr(0, most_letters) + "...";
}

// Ranks that fail alike would each say it, as would those that miss the one that has failed: their
// calls of MPI fail, which is worth saying only where nothing else is.
std::string MpirunWords::said_by_job(const std::string& line) {
  static const std::regex failure("fourfold[:] rank [0-9]+: (MPI_)?.*");
  std::smatch parts;
  const std::string beginning = line.substr(0, 40);
  if (!std::regex_match(beginning, parts, failure)) return line + "\n";
  if (parts[1].matched) {
    if (failed_call_.empty()) failed_call_ = line + "\n";
    return "";
  }
  return std::exchange(rank_spoke_, true) ? "" : line + "\n";
}

std::string MpirunWords::own_line(const std::string& line) {
  if (line == ranks_started) {
    warning_ = not_started();
    started_ = true;
    const std::string before = std::exchange(before_, "") + std::exchange(held_, "");
    return warning_.empty() ? before : "";
  }
  if (line.starts_with(of_ours) && (held_.empty() || !started_)) return said_by_job(line);
  const bool error = line.find("ORTE_ERROR_LOG") != std::string::npos;
  mpirun_spoke_ = mpirun_spoke_ || error || is_frame(line) || is_notice(line);
  if (is_notice(line)) {
    if (const auto seen = death_in(line)) death_ = seen;
    lost_words_ = lost_words_ || error;
    in_notice_ = in_notice_ || !held_.empty();
    held_.clear();
    return "";
  }
  if (is_frame(line) && in_notice_) {
    in_notice_ = false;
    return "";
  }
  if (line.empty() && in_notice_) return "";
  if (!started_) {
    before_ += std::exchange(held_, "");
    if (is_frame(line)) {
      held_ = line + "\n";
    } else {
      before_ += line + "\n";
    }
    return "";
  }
  const std::string before = std::exchange(held_, "");
  if (!is_frame(line)) return before + line + "\n";
  held_ = line + "\n";
  return before;
}

}  // namespace fourfold::inline scaling::inline jobs
