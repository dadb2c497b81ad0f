// Starts executables side by side, feeds each its input and collects what they say.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fourfold::inline scaling::inline jobs {

struct Job {
  std::vector<std::string> command;  // executable (PATH is searched), then its arguments
  std::string input;                 // at most what a pipe can hold: 1 MiB
  std::int64_t cpu_limit_s = 0;      // ends it with status over_cpu_limit; 0: no limit
};

inline constexpr int over_cpu_limit = 128 + 24;  // SIGXCPU

struct JobResult {
  std::string output;
  std::string complaint;  // the end of standard error
  int status = 0;         // exit status; 128 + signal if it died of one
  int signal = 0;         // that it died of; 0: it ended by itself
};

// How it ended, in words that follow its name: "ended with status 2", "was killed by signal 9 ...".
std::string ending_text(const JobResult& result);

// Told which job has done which part of its work, from its lines "progress 0.25" on standard error.
using Hear = std::function<void(std::size_t job, double done)>;

// Runs all jobs at once and returns when all have ended, results in the order of the jobs; lines of
// progress are no complaint. Throws std::runtime_error if one cannot be started, and Interrupted
// after Ctrl-C; no child survives.
std::vector<JobResult> run_side_by_side(const std::vector<Job>& jobs, const Hear& hear = {});

// The path of `executable` beside the one that is running. Throws std::runtime_error if missing.
std::string beside_this_executable(const std::string& executable);

}  // namespace fourfold::inline scaling::inline jobs
