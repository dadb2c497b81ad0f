// Looked at before it is removed; see scratch_folder.hpp.
#include "support/scratch_folder.hpp"

#include <filesystem>
#include <stdexcept>

#include "support/own_file.hpp"

namespace fourfold::inline support {

namespace {

namespace files = std::filesystem;

constexpr const char* mark = ".fourfold-scratch";

bool is_ours(const files::path& path) {
  std::error_code missing;
  return files::is_directory(files::symlink_status(path, missing)) &&
         files::is_regular_file(files::symlink_status(path / mark, missing));
}

}  // namespace

void make_scratch_folder(const std::string& path) {
  remove_scratch_folder(path);
  std::error_code error;
  if (files::exists(files::symlink_status(path, error))) {
    throw std::runtime_error(path +
                             " is in the way: it was not made for this; remove it, or choose "
                             "another folder");
  }
  files::create_directories(path, error);
  if (error) throw std::runtime_error("cannot make the folder " + path + ": " + error.message());
  write_own_file((files::path(path) / mark).string(), "");
}

void remove_scratch_folder(const std::string& path) {
  std::error_code ignored;
  if (is_ours(path)) files::remove_all(path, ignored);
}

}  // namespace fourfold::inline support
