// A file of words, open for reading, whose every failure is a sentence that begins with its name.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace fourfold::inline engine::inline train::inline data {

// Open for reading, for as long as it lives. Throws std::runtime_error where it cannot be read.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // Throws if it is no plain file.
  struct stat status() const;
  // Throws if these bytes are not all there any more.
  void read(std::int64_t first, void* to, std::size_t bytes) const;

 private:
  std::string path_;
  int file_;
};

}  // namespace fourfold::inline engine::inline train::inline data
