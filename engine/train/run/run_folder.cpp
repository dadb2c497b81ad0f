// Names and looks at folders; see run_folder.hpp.
#include "engine/train/run/run_folder.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/run/train.hpp"
#include "support/chrome_trace.hpp"
#include "support/owned_folder.hpp"
#include "support/plain_name.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

namespace files = std::filesystem;

constexpr char run_line[] = R"({"kind":"run")";

bool holds_text(const std::string& log) {
  std::error_code missing;
  return files::is_regular_file(log, missing) && files::file_size(log, missing) > 0;
}

// Whether its first line begins as that of a run's log does.
bool is_log(const std::string& path) {
  std::ifstream file(path);
  std::string start(std::size(run_line) - 1, '\0');
  file.read(start.data(), std::ssize(start));
  return start == run_line;
}

// The folder that a path lies in, by its name alone: "." of a name without one.
files::path above(const files::path& path) {
  const files::path folder = (path / "..").lexically_normal();
  return folder.has_filename() ? folder : folder.parent_path();
}

// The same for all ways to write a path, as with "./" or a last "/".
files::path place(const std::string& path) {
  std::error_code missing;
  const files::path there = files::weakly_canonical(files::absolute(path), missing);
  return there.has_filename() ? there : there.parent_path();
}

// Whether the path is that folder, or below it.
bool holds(const files::path& folder, const files::path& path) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

// Whether the run itself writes what is there.
bool is_own(const files::path& path, const files::path& folder) {
  const std::string name = path.filename().string();
  const bool named = name.starts_with("loss.") || name.starts_with('.') || name == "log.jsonl" ||
                     name == "heartbeats";
  return (named && path.parent_path() == folder) || holds(folder / "checkpoints", path);
}

}  // namespace

bool goes_on_in_its_folder(const TrainSettings& settings) {
  if (settings.resume.empty()) return false;
  const files::path resumed = files::is_directory(settings.resume)
                                  ? files::path(settings.resume)
                                  : files::absolute(settings.resume).parent_path();
  std::error_code missing;
  return files::equivalent(resumed, settings.folder + "/checkpoints", missing);
}

std::string default_folder(const std::string& model) {
  return fmt::format("results/train/{}-{:%Y%m%d-%H%M%S}", made_plain(model),
                     fmt::gmtime(std::time(nullptr)));
}

std::string folder_resumed(const std::string& resume) {
  std::error_code missing;
  const bool is_folder = files::is_directory(resume, missing);
  const files::path checkpoints = is_folder ? files::path(resume) : above(resume);
  const std::vector<std::string> all = finished_checkpoints(checkpoints.string());
  if (all.empty() || (!is_folder && !files::equivalent(resume, all.back(), missing))) return "";
  const files::path folder = above(checkpoints);
  return files::equivalent(folder / "checkpoints", checkpoints, missing) ? folder.string() : "";
}

void refuse_unmakeable(const std::string& folder) {
  const std::string there = there_or_above(folder);
  std::error_code missing;
  const bool usable = ::access(there.c_str(), W_OK | X_OK) == 0;
  const int error = !files::is_directory(there, missing) ? ENOTDIR : usable ? 0 : errno;
  if (error == 0) return;
  throw std::runtime_error(
      fmt::format("the folder {} cannot be used: {}: {}", folder, there, std::strerror(error)));
}

void refuse_earlier_run(const TrainSettings& settings) {
  refuse_in_use(settings.folder);
  if (goes_on_in_its_folder(settings)) return;
  if (!finished_checkpoints(settings.folder).empty()) {
    throw std::runtime_error(settings.folder +
                             " holds checkpoints itself, so that it can be no run's folder; give "
                             "another --folder");
  }
  if (!finished_checkpoints(settings.folder + "/checkpoints").empty()) {
    throw std::runtime_error(
        fmt::format("{0} holds an earlier run; go on with that by --resume {0}, or give another "
                    "--folder",
                    settings.folder));
  }
  if (!holds_text(log_path(settings))) return;
  if (!is_log(log_path(settings))) {
    throw std::runtime_error(
        fmt::format("{} is there already and is no log of a run; give another {}",
                    log_path(settings), settings.log.empty() ? "--folder" : "--log"));
  }
  refuse_in_use(above(log_path(settings)).string());
  throw std::runtime_error(fmt::format("{} is the log of an earlier run; give another {}",
                                       log_path(settings),
                                       settings.log.empty() ? "--folder, or remove it" : "--log"));
}

void refuse_unwritable_files(const TrainSettings& settings) {
  const bool to_be_made = !files::exists(settings.folder);
  for (const std::string& path : {settings.log, settings.trace}) {
    if (path.empty()) continue;
    if (to_be_made && place(path).parent_path() == place(settings.folder)) continue;
    refuse_unwritable(path);
  }
}

void refuse_own_files(const TrainSettings& settings) {
  const files::path folder = place(settings.folder), log = folder / "log.jsonl";
  const auto refuse = [](const std::string& path, const char* what, const char* flag) {
    throw std::runtime_error(fmt::format("{} is {}; give another {}", path, what, flag));
  };
  for (const auto& [flag, path] :
       {std::pair("--log", settings.log), std::pair("--trace", settings.trace)}) {
    if (path.empty()) continue;
    const files::path there = place(path);
    if (there == log && path == settings.log) continue;
    if (holds(there, folder)) refuse(path, "the run's folder, or above it", flag);
    if (is_own(there, folder)) refuse(path, "a file of the run's own", flag);
  }
  if (settings.trace.empty()) return;
  if (place(settings.trace) == place(log_path(settings))) {
    refuse(settings.trace, "a file of the run's own", "--trace");
  }
  refuse_no_trace(settings.trace);
}

void refuse_links(const std::string& folder) {
  for (const char* name : {"checkpoints", "log.jsonl"}) {
    const std::string path = folder + '/' + name;
    std::error_code missing;
    if (!files::is_symlink(path, missing)) continue;
    throw std::runtime_error(path +
                             " is a link, and a run writes in its own folder only; remove the "
                             "link, or give another --folder");
  }
}

}  // namespace fourfold::inline engine::inline train::inline run
