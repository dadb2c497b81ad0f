// Opened exclusively, or without following links; see own_file.hpp.
#include "support/own_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>

namespace fourfold::inline support {

namespace {

constexpr std::string_view draft_mark = ".fourfold-draft";
constexpr std::string_view hexadecimal = "0123456789abcdef";
constexpr std::size_t draft_digits = 16;

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw std::runtime_error("cannot write " + path + ": " + std::strerror(error));
}

std::string drawn_name(const std::string& path) {
  std::random_device device;
  std::string name = path + '.';
  for (std::size_t i = 0; i < draft_digits; ++i) name += hexadecimal[device() % 16];
  return name + std::string(draft_mark);
}

// 0, or the error that stopped the write.
int write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(file, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

// Returns its descriptor.
int made_anew(const std::string& draft, const std::string& path) {
  const int file =
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) cannot_write(path, errno);
  return file;
}

}  // namespace

Draft::Draft(const std::string& path)
    : path_(path), draft_(drawn_name(path)), file_(made_anew(draft_, path)) {}

Draft::~Draft() {
  if (file_ >= 0) ::close(file_);
  if (!draft_.empty()) ::unlink(draft_.c_str());
}

void Draft::write(std::string_view content) const {
  if (const int error = write_all(file_, content); error != 0) cannot_write(path_, error);
}

void Draft::keep() {
  const int closed = ::close(file_);
  file_ = -1;
  if (closed != 0) cannot_write(path_, errno);
  if (std::rename(draft_.c_str(), path_.c_str()) != 0) cannot_write(path_, errno);
  draft_.clear();
}

std::string make_draft(const std::string& path) {
  const std::string draft = drawn_name(path);
  ::close(made_anew(draft, path));
  return draft;
}

bool is_draft(std::string_view name) {
  if (!name.ends_with(draft_mark)) return false;
  name.remove_suffix(draft_mark.size());
  if (name.size() < draft_digits + 2) return false;
  const std::string_view digits = name.substr(name.size() - draft_digits);
  return name[name.size() - draft_digits - 1] == '.' &&
         digits.find_first_not_of(hexadecimal) == std::string_view::npos;
}

std::string meant_by_draft(std::string_view name) {
  return std::string(name.substr(0, name.size() - draft_mark.size() - draft_digits - 1));
}

void write_own_file(const std::string& path, std::string_view content) {
  Draft draft(path);
  draft.write(content);
  draft.keep();
}

int open_own_file(const std::string& path, int flags) {
  // Without waiting: a pipe in the file's place has nobody at its other end.
  const int file = ::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  if (file < 0 && errno == ELOOP) {
    throw std::runtime_error("cannot write " + path +
                             ": it is a link, which might lead out of its folder; remove it");
  }
  if (file < 0 && errno != ENXIO) cannot_write(path, errno);
  struct stat status {};
  if (file >= 0 && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) return file;
  if (file >= 0) ::close(file);
  throw std::runtime_error("cannot write " + path + ": it is no plain file; remove it");
}

void append_own_line(const std::string& path, std::string_view line) {
  const int file = open_own_file(path, O_WRONLY | O_CREAT | O_APPEND);
  const int error = write_all(file, std::string(line) + '\n');
  if (::close(file) != 0 && error == 0) cannot_write(path, errno);
  if (error != 0) cannot_write(path, error);
}

}  // namespace fourfold::inline support
