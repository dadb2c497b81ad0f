// Opened once and read at any place; see open_file.hpp.
#include "engine/train/data/open_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace fourfold::inline engine::inline train::inline data {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + " " + what);
}

}  // namespace

// O_NONBLOCK keeps a pipe from being waited for.
OpenFile::OpenFile(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_ < 0) refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
}

OpenFile::~OpenFile() {
  ::close(file_);
}

struct stat OpenFile::status() const {
  struct stat status {};
  ::fstat(file_, &status);
  if (!S_ISREG(status.st_mode)) {
    refuse(path_, "is no file; name text files or .bin shards, or a pattern of them");
  }
  return status;
}

void OpenFile::read(std::int64_t first, void* to, std::size_t bytes) const {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t count = ::pread(file_, static_cast<char*>(to) + done, bytes - done,
                                  static_cast<off_t>(first) + static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(path_, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (count == 0) {
      refuse(path_, fmt::format("has become shorter while it was used: byte {} is gone",
                                first + static_cast<std::int64_t>(done)));
    }
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace fourfold::inline engine::inline train::inline data
