// Written beside and renamed; see whole_file.hpp.
#include "engine/train/whole_file.hpp"

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

}  // namespace

void write_whole_file(const std::string& path, const std::string& content) {
  const std::string beside = path + ".new";
  std::FILE* file = std::fopen(beside.c_str(), "wb");
  if (file == nullptr) cannot_write(path, errno);
  int error = 0;
  if (std::fwrite(content.data(), 1, content.size(), file) != content.size()) error = errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  std::remove(beside.c_str());
  cannot_write(path, error);
}

void refuse_unwritable_file(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) cannot_write(path, error.value());
  std::FILE* file = std::fopen(path.c_str(), "ab");
  if (file == nullptr) cannot_write(path, errno);
  std::fclose(file);
}

}  // namespace fourfold
