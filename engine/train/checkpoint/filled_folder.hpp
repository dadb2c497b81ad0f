// A folder that is filled, or is left as it was found: with nothing in it, or not there at all.
#pragma once

#include <string>
#include <vector>

namespace fourfold::inline engine::inline train::inline checkpoint {

class FilledFolder {
 public:
  // Makes it, and those above it. Throws std::runtime_error with a sentence if it cannot.
  explicit FilledFolder(const std::string& path);
  FilledFolder(FilledFolder&& other) noexcept;
  ~FilledFolder();  // takes away what it has made, unless all is there
  FilledFolder(const FilledFolder&) = delete;
  FilledFolder& operator=(const FilledFolder&) = delete;

  void write(const std::string& name, const std::string& content);
  void is_whole() { is_whole_ = true; }

 private:
  std::string path_;
  std::vector<std::string> made_, written_;  // folders, files
  bool is_whole_ = false;
};

}  // namespace fourfold::inline engine::inline train::inline checkpoint
