// POSIX files with every error in words; see checkpoint_folder.hpp.
#include "engine/train/checkpoint/checkpoint_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/checkpoint/checkpoint_record.hpp"
#include "support/own_file.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

namespace files = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const char* what, int error) {
  throw std::runtime_error(fmt::format("{} {}: {}", path, what, std::strerror(error)));
}

bool is_number(std::string_view text, std::size_t least_digits) {
  return text.size() >= least_digits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "step-00000100" of "step-00000100.json"; empty of a name without this ending.
std::string_view stem_of(std::string_view name, std::string_view ending) {
  return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : "";
}

// "step-00000100"
bool names_a_step(std::string_view stem) {
  constexpr std::string_view start = "step-";
  return stem.starts_with(start) && is_number(stem.substr(start.size()), 8);
}

bool is_record_name(std::string_view name) {
  return names_a_step(stem_of(name, ".json"));
}

// As free_data_name gives them. Files of others, say "step-best.safetensors", have other names.
bool is_data_name(std::string_view name) {
  const std::string_view stem = stem_of(name, ".safetensors");
  const std::size_t dash = stem.rfind('-');
  return names_a_step(stem) ||
         (dash != std::string_view::npos && names_a_step(stem.substr(0, dash)) &&
          is_number(stem.substr(dash + 1), 1));
}

bool is_draft_of_ours(const std::string& name) {
  if (!is_draft(name)) return false;
  const std::string meant = meant_by_draft(name);
  return is_record_name(meant) || is_data_name(meant);
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
    names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> named_as_records(const std::string& folder) {
  std::vector<std::string> paths;
  for (const std::string& name : names_in(folder)) {
    if (is_record_name(name)) paths.push_back((files::path(folder) / name).string());
  }
  return paths;
}

// A pipe, a folder or a dangling link is no record that a run has written.
bool is_plain_file(const std::string& path) {
  std::error_code unknown;
  return files::is_regular_file(path, unknown);
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

std::string text_of_record(const std::string& path) {
  return readable(path) ? read_whole_file(path) : "";
}

std::int64_t on_disk(std::int64_t bytes) {
  constexpr std::int64_t block = 4096;
  return (bytes + block - 1) / block * block;
}

// Makes a draft of so many bytes. Returns its path. Throws, and leaves no file.
std::string reserve_draft(const std::string& path, std::int64_t bytes) {
  expect_allowed(path, bytes);
  const std::string draft = make_draft(path);
  const int file = ::open(draft.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) refuse(path, "cannot be written", errno);
  int error = ::posix_fallocate(file, 0, bytes);
  while (error == EINTR) error = ::posix_fallocate(file, 0, bytes);
  ::close(file);
  if (error == 0) return draft;
  ::unlink(draft.c_str());
  struct statvfs space {};
  ::statvfs(files::path(path).parent_path().c_str(), &space);
  const std::string why = fmt::format(
      "{} cannot be written: it needs {} bytes, {} are free there ({})", path, bytes,
      static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize, std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) throw NoRoom(why);
  throw std::runtime_error(why);
}

// To its draft, that has as many bytes, and on to the disk.
void write_draft(const std::string& draft, const std::string& path, const std::string& text) {
  std::fstream file(draft, std::ios::binary | std::ios::in | std::ios::out);
  file << text << std::flush;
  if (!file) refuse(path, "cannot be written", errno);
  file.close();
  wait_for_disk(draft);
}

// Their records, oldest first.
std::vector<std::string> whole_checkpoints(const std::string& folder) {
  std::vector<std::string> whole;
  for (const std::string& path : finished_checkpoints(folder)) {
    if (readable(path)) whole.push_back(path);
  }
  return whole;
}

void rename(const std::string& draft, const std::string& path) {
  if (::rename(draft.c_str(), path.c_str()) != 0) refuse(path, "cannot be written", errno);
  wait_for_disk(files::path(path).parent_path().string());
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

CheckpointDrafts reserve(const CheckpointFiles& checkpoint) {
  std::vector<std::string> made;
  const auto draft_of = [&](const std::string& path, std::int64_t bytes) {
    return made.emplace_back(reserve_draft(path, bytes));
  };
  try {
    CheckpointDrafts drafts;
    drafts.data = draft_of(checkpoint.data, checkpoint.data_bytes);
    drafts.record = draft_of(checkpoint.record, checkpoint.record_bytes);
    if (const std::string before = text_of_record(checkpoint.record); !before.empty()) {
      write_draft(draft_of(checkpoint.record, std::ssize(before)), checkpoint.record, before);
    }
    return drafts;
  } catch (const std::runtime_error&) {
    for (const std::string& draft : made) ::unlink(draft.c_str());
    throw;
  }
}

void commit(const CheckpointFiles& checkpoint, const CheckpointDrafts& drafts,
            const std::string& text) {
  if (std::ssize(text) != checkpoint.record_bytes) {
    throw std::logic_error("checkpoint: a record of another length than was reserved");
  }
  wait_for_disk(drafts.data);
  write_draft(drafts.record, checkpoint.record, text);
  rename(drafts.data, checkpoint.data);
  rename(drafts.record, checkpoint.record);
}

void remove_unfinished(const std::string& folder) {
  std::set<std::string> finished;  // data
  for (const std::string& path : finished_checkpoints(folder)) {
    if (const auto record = readable(path)) finished.insert(record->data_file);
  }
  for (const std::string& name : names_in(folder)) {
    if (!is_draft_of_ours(name)) continue;
    const auto record = readable((files::path(folder) / name).string());
    const bool orphaned =
        record && is_data_name(record->data_file) && !finished.contains(record->data_file);
    if (orphaned) remove(folder, record->data_file);
    remove(folder, name);
  }
}

std::string there_or_above(const std::string& path) {
  files::path there = files::absolute(path);
  std::error_code missing;
  while (!files::exists(there, missing) && there.has_relative_path()) there = there.parent_path();
  return there.string();
}

bool on_one_disk(const std::string& one, const std::string& other) {
  struct stat of_one {
  }, of_other{};
  return ::stat(there_or_above(one).c_str(), &of_one) != 0 ||
         ::stat(there_or_above(other).c_str(), &of_other) != 0 || of_one.st_dev == of_other.st_dev;
}

std::int64_t free_bytes(const std::string& path) {
  struct statvfs space {};
  if (::statvfs(there_or_above(path).c_str(), &space) != 0)
    return std::numeric_limits<std::int64_t>::max();
  const double free = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  return free < 9e18 ? static_cast<std::int64_t>(free) : std::numeric_limits<std::int64_t>::max();
}

std::vector<std::string> remove_for_room(const std::string& folder,
                                         const CheckpointFiles& checkpoint) {
  const std::vector<std::string> whole = whole_checkpoints(folder);
  const auto record_bytes = [](const std::string& path) {
    std::error_code gone;
    const std::uintmax_t bytes = files::file_size(path, gone);
    return gone ? 0 : on_disk(static_cast<std::int64_t>(bytes));
  };
  std::int64_t needed = on_disk(checkpoint.data_bytes) + on_disk(checkpoint.record_bytes) +
                        record_bytes(checkpoint.record) - free_bytes(folder);
  std::vector<std::string> going;
  for (std::size_t i = 0; needed > 0 && i + 1 < whole.size(); ++i) {
    going.push_back(whole[i]);
    needed -= on_disk(readable(whole[i])->data_file_bytes) + record_bytes(whole[i]);
  }
  if (needed > 0) return {};
  remove_older(folder, std::ssize(whole) - std::ssize(going));
  return going;
}

void remove_older(const std::string& folder, std::int64_t keep) {
  const std::vector<std::string> whole = whole_checkpoints(folder);
  for (std::int64_t i = 0; i < std::ssize(whole) - keep; ++i) {
    // The record becomes a draft first: a record without data would be a lie.
    const std::string& path = whole[static_cast<std::size_t>(i)];
    rename(path, make_draft(path));
  }
  remove_unfinished(folder);
}

std::vector<std::string> finished_checkpoints(const std::string& folder) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (const std::string& path : named_as_records(folder)) {
    if (!is_plain_file(path)) continue;
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

std::vector<UnreadCheckpoint> left_out_checkpoints(const std::string& folder) {
  std::vector<UnreadCheckpoint> left_out;
  for (const std::string& path : named_as_records(folder)) {
    if (!is_plain_file(path)) {
      left_out.push_back({path, "it is no plain file"});
    } else if (!readable(path)) {
      left_out.push_back({path, "it is damaged"});
    }
  }
  return left_out;
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
