// Notes what it makes; see filled_folder.hpp.
#include "engine/train/checkpoint/filled_folder.hpp"

#include <filesystem>
#include <utility>

#include "support/own_file.hpp"
#include "support/owned_folder.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

FilledFolder::FilledFolder(const std::string& path) : path_(path), made_(make_folders(path)) {}

FilledFolder::FilledFolder(FilledFolder&& other) noexcept
    : path_(std::move(other.path_)),
      made_(std::move(other.made_)),
      written_(std::move(other.written_)),
      is_whole_(std::exchange(other.is_whole_, true)) {}

FilledFolder::~FilledFolder() {
  if (is_whole_) return;
  std::error_code ignored;
  for (const std::string& file : written_) std::filesystem::remove(file, ignored);
  remove_empty(made_);
}

void FilledFolder::write(const std::string& name, const std::string& content) {
  written_.push_back(path_ + "/" + name);
  write_own_file(written_.back(), content);
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
