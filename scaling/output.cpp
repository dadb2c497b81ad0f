// Checked writes; see output.hpp.
#include "scaling/output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace fourfold {

void write_file(const std::string& path, const std::string& content) {
  const std::string beside = path + ".new";
  std::FILE* file = std::fopen(beside.c_str(), "wb");
  bool written = file != nullptr;
  int error = written ? 0 : errno;
  if (written) {
    written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    if (!written) error = errno;
    if (std::fclose(file) != 0 && written) {
      written = false;
      error = errno;
    }
  }
  if (written && std::rename(beside.c_str(), path.c_str()) == 0) return;
  if (written) error = errno;
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

void print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    if (errno == EPIPE) return;  // the reader, say `head`, has seen enough
    throw std::runtime_error(
        fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
}

}  // namespace fourfold
