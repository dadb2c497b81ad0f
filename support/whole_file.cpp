// Written beside and renamed; see whole_file.hpp.
#include "support/whole_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace fourfold {

namespace {

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw std::runtime_error("cannot write " + path + ": " + std::strerror(error));
}

// Where a file is written before it takes its name: beside it, or, for what is no plain file, in
// place.
std::string draft_of(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  const bool in_place = std::filesystem::exists(status) && !is_regular_file(status);
  return in_place ? path : path + ".new";
}

}  // namespace

void write_whole_file(const std::string& path, const std::string& content) {
  const std::string draft = draft_of(path);
  std::FILE* file = std::fopen(draft.c_str(), "wb");
  if (file == nullptr) cannot_write(path, errno);
  int error = 0;
  if (std::fwrite(content.data(), 1, content.size(), file) != content.size()) error = errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (draft != path) {
    if (error == 0 && std::rename(draft.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) std::remove(draft.c_str());
  }
  if (error != 0) cannot_write(path, error);
}

void refuse_unwritable(const std::string& path) {
  const std::string draft = draft_of(path);
  std::FILE* file = std::fopen(draft.c_str(), "ab");
  if (file == nullptr) cannot_write(path, errno);
  std::fclose(file);
  if (draft != path) std::remove(draft.c_str());
}

}  // namespace fourfold
