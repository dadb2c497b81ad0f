// Checked writes; see output.hpp.
#include "scaling/cli/output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "platforms/file/notice.hpp"

namespace fourfold {

void print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    if (errno == EPIPE) return;  // the reader, say `head`, has seen enough
    throw std::runtime_error(
        fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
}

void print_notices(const Platform& platform) {
  for (const std::string& sentence : notices(platform)) {
    fmt::print(stderr, "note: {}.\n", sentence);
  }
}

}  // namespace fourfold
