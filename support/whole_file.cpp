// Looked at before it is opened, written beside and renamed; see whole_file.hpp.
#include "support/whole_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "support/own_file.hpp"

namespace fourfold::inline support {

namespace {

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw std::runtime_error("cannot write " + path + ": " + std::strerror(error));
}

[[noreturn]] void cannot_read(const std::string& what, const std::string& path,
                              const std::string& why) {
  throw std::runtime_error("cannot read " + what + (what.empty() ? "" : " ") + path + ": " + why);
}

// Pipes, terminals and other devices; also a plain file that goes by the name of one, as
// /dev/stdout does: whoever has it open goes on writing to it.
bool is_written_in_place(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (!std::filesystem::exists(status)) return false;
  return !is_regular_file(status) || path.starts_with("/dev/") || path.starts_with("/proc/");
}

std::FILE* opened_in_place(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "ab");
  if (file == nullptr) cannot_write(path, errno);
  return file;
}

void write_in_place(const std::string& path, const std::string& content) {
  std::FILE* file = opened_in_place(path);
  int error = 0;
  if (std::fwrite(content.data(), 1, content.size(), file) != content.size()) error = errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error != 0) cannot_write(path, error);
}

// The file that a link of the user's leads to.
std::string meant(const std::string& path) {
  std::error_code dangling;
  const std::filesystem::path end = std::filesystem::canonical(path, dangling);
  return dangling || !std::filesystem::is_symlink(path) ? path : end.string();
}

}  // namespace

std::int64_t bytes_of_plain_file(const std::string& path, const std::string& what) {
  // A pipe would be waited for, and a device may have no end: neither is opened.
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error) cannot_read(what, path, error.message());
  if (is_directory(status)) cannot_read(what, path, "it is a folder; give the path of a file");
  if (!is_regular_file(status)) cannot_read(what, path, "it is no plain file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) cannot_read(what, path, error.message());
  return static_cast<std::int64_t>(size);
}

std::string read_whole_file(const std::string& path, const std::string& what, std::int64_t most) {
  const std::int64_t size = bytes_of_plain_file(path, what);
  if (size > most) {
    cannot_read(what, path,
                "it has " + std::to_string(size) + " bytes, and at most " + std::to_string(most) +
                    " are read");
  }
  // What takes its place meanwhile is not waited for either.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) cannot_read(what, path, std::strerror(errno));
  std::string text(static_cast<std::size_t>(size), '\0');
  std::size_t done = 0;
  int failed = 0;
  while (done < text.size() && failed == 0) {
    const ssize_t count = ::read(file, text.data() + done, text.size() - done);
    if (count == 0) break;
    if (count > 0) done += static_cast<std::size_t>(count);
    if (count < 0 && errno != EINTR) failed = errno;
  }
  ::close(file);
  if (failed != 0) cannot_read(what, path, std::strerror(failed));
  text.resize(done);
  return text;
}

void write_whole_file(const std::string& path, const std::string& content) {
  if (is_written_in_place(path)) return write_in_place(path, content);
  write_own_file(meant(path), content);
}

void refuse_unwritable(const std::string& path) {
  if (is_written_in_place(path)) {
    std::fclose(opened_in_place(path));
  } else {
    const Draft draft(meant(path));
  }
}

}  // namespace fourfold::inline support
