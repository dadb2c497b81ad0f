// Looked at before it is opened, written beside and renamed; see whole_file.hpp.
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

[[noreturn]] void cannot_read(const std::string& what, const std::string& path,
                              const std::string& why) {
  throw std::runtime_error("cannot read " + what + (what.empty() ? "" : " ") + path + ": " + why);
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

std::string read_whole_file(const std::string& path, const std::string& what) {
  // A pipe would be waited for, and a device may have no end: neither is opened.
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error) cannot_read(what, path, error.message());
  if (is_directory(status)) cannot_read(what, path, "it is a folder; give the path of a file");
  if (!is_regular_file(status)) cannot_read(what, path, "it is no plain file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > static_cast<std::uintmax_t>(most_input_bytes)) {
    cannot_read(what, path,
                "it has " + std::to_string(size) + " bytes, and at most " +
                    std::to_string(most_input_bytes) + " are read");
  }
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) cannot_read(what, path, std::strerror(errno));
  std::string text(error ? 0 : size, '\0');
  errno = 0;
  text.resize(std::fread(text.data(), 1, text.size(), file));
  const int failed = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (failed != 0) cannot_read(what, path, std::strerror(failed));
  return text;
}

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
