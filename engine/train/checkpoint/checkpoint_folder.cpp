// POSIX files with every error in words; see checkpoint_folder.hpp.
#include "engine/train/checkpoint/checkpoint_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/checkpoint_record.hpp"
#include "support/whole_file.hpp"

namespace fourfold {

namespace {

namespace files = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const char* what, int error) {
  throw std::runtime_error(fmt::format("{} {}: {}", path, what, std::strerror(error)));
}

bool is_ours(const std::string& name) {
  return name.starts_with("step-");
}

std::optional<CheckpointRecord> readable(const std::string& path) {
  try {
    return parse_checkpoint_record(read_whole_file(path));
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

constexpr std::int64_t damaged = INT64_MAX;  // in place of the serial of a record

// By the steps in the names of records in one folder.
bool is_earlier(const std::string& path, const std::string& other) {
  return path.size() != other.size() ? path.size() < other.size() : path < other;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : files::directory_iterator(folder, missing)) {
    const std::string name = entry.path().filename().string();
    if (is_ours(name)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// Waits until the disk has what the file, or the folder's list of names, holds.
void wait_for_disk(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) refuse(path, "cannot be opened", errno);
  const int error = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  if (error != 0) refuse(path, "did not reach the disk", error);
}

void remove(const std::string& folder, const std::string& name) {
  std::error_code ignored;
  files::remove(files::path(folder) / name, ignored);
}

}  // namespace

std::string free_data_name(const std::string& folder, std::int64_t step) {
  std::string name = fmt::format("step-{:08}.safetensors", step);
  for (int i = 2; files::exists(files::path(folder) / name); ++i) {
    name = fmt::format("step-{:08}-{}.safetensors", step, i);
  }
  return name;
}

std::string record_path(const std::string& folder, std::int64_t step) {
  return (files::path(folder) / fmt::format("step-{:08}.json", step)).string();
}

std::int64_t next_serial(const std::string& folder) {
  std::int64_t newest = 0;
  for (const std::string& path : finished_checkpoints(folder)) {
    if (const auto record = readable(path)) newest = std::max(newest, record->serial);
  }
  return newest + 1;
}

void expect_allowed(const std::string& path, std::int64_t bytes) {
  struct rlimit limit {};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < static_cast<rlim_t>(bytes)) {
    throw std::runtime_error(
        fmt::format("{} cannot be written: it needs {} bytes, and files may have {} (ulimit -f)",
                    path, bytes, limit.rlim_cur));
  }
}

void reserve(const std::string& path, std::int64_t bytes) {
  expect_allowed(path, bytes);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) refuse(path, "cannot be written", errno);
  int error = ::posix_fallocate(file, 0, bytes);
  while (error == EINTR) error = ::posix_fallocate(file, 0, bytes);
  ::close(file);
  if (error == 0) return;
  ::unlink(path.c_str());
  struct statvfs space {};
  ::statvfs(files::path(path).parent_path().c_str(), &space);
  throw std::runtime_error(fmt::format(
      "{} cannot be written: it needs {} bytes, {} are free there ({})", path, bytes,
      static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize, std::strerror(error)));
}

void commit(const std::string& temporary, const std::string& path) {
  wait_for_disk(temporary);
  if (::rename(temporary.c_str(), path.c_str()) != 0) refuse(path, "cannot be written", errno);
  wait_for_disk(files::path(path).parent_path().string());
}

void commit_text(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  reserve(temporary, static_cast<std::int64_t>(text.size()));
  std::fstream file(temporary, std::ios::binary | std::ios::in | std::ios::out);
  file << text << std::flush;
  if (!file) refuse(path, "cannot be written", errno);
  file.close();
  commit(temporary, path);
}

void remove_unfinished(const std::string& folder) {
  std::set<std::string> spoken_of;
  bool all_readable = true;
  for (const std::string& path : finished_checkpoints(folder)) {
    const auto record = readable(path);
    all_readable = all_readable && record.has_value();
    if (record) spoken_of.insert(record->data_file);
  }
  for (const std::string& name : names_in(folder)) {
    // What a damaged record spoke of, nobody knows: then data files stay.
    const bool orphan = name.ends_with(".safetensors") && all_readable && !spoken_of.contains(name);
    if (name.ends_with(".tmp") || orphan) remove(folder, name);
  }
}

void remove_older(const std::string& folder, std::int64_t keep) {
  std::vector<std::pair<std::string, std::string>> whole;  // records and their data, oldest first
  for (const std::string& path : finished_checkpoints(folder)) {
    const auto record = readable(path);
    if (record) whole.emplace_back(files::path(path).filename().string(), record->data_file);
  }
  const auto count = static_cast<std::int64_t>(whole.size());
  for (std::int64_t i = 0; i < count - keep; ++i) {
    // The record first: data without one is swept up, a record without data would be a lie.
    remove(folder, whole[static_cast<std::size_t>(i)].first);
    remove(folder, whole[static_cast<std::size_t>(i)].second);
  }
  remove_unfinished(folder);
}

std::vector<std::string> finished_checkpoints(const std::string& folder) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (const std::string& name : names_in(folder)) {
    if (!name.ends_with(".json")) continue;
    const std::string path = (files::path(folder) / name).string();
    const auto record = readable(path);
    found.emplace_back(record ? record->serial : damaged, path);
  }
  std::ranges::sort(found);
  const auto whole = std::ranges::find_if(found.rbegin(), found.rend(),
                                          [](const auto& one) { return one.first != damaged; });
  std::vector<std::string> paths;
  for (const auto& [serial, path] : found) paths.push_back(path);
  if (whole == found.rend()) return paths;
  // A damaged one might be the newest: whoever asks for that must hear of it. One of an earlier
  // step than the newest that is whole is not.
  std::ranges::stable_partition(paths, [&](const std::string& path) {
    return !readable(path) && is_earlier(path, whole->second);
  });
  return paths;
}

std::vector<std::string> damaged_checkpoints(const std::string& folder) {
  std::vector<std::string> paths = finished_checkpoints(folder);
  std::erase_if(paths, [](const std::string& path) { return readable(path).has_value(); });
  return paths;
}

}  // namespace fourfold
