// A limit on how large files may become, as a full disk that only this process meets.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace fourfold::tests {

// Files of this process may have so many bytes while this lives.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_);
    const struct rlimit small { bytes, limit_.rlim_max };
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  void (*before_)(int);
  struct rlimit limit_ {};
};

}  // namespace fourfold::tests
