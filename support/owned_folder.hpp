// A folder, or a file in one, that a single process at a time may write to. A file beside what is
// owned, ".in-use", says which process that is, on which host, since when.
#pragma once

#include <string>
#include <vector>

namespace fourfold::inline support {

class OwnedFolder {
 public:
  // Of the folder, which must be there, or of the file with the name `part` in it alone. Throws
  // std::runtime_error with a sentence that names the process that has it; one on another host may
  // have ended unseen, and is told with the file to remove then.
  explicit OwnedFolder(const std::string& folder, const std::string& part = "");
  ~OwnedFolder();
  OwnedFolder(const OwnedFolder&) = delete;
  OwnedFolder& operator=(const OwnedFolder&) = delete;

  // A sentence where its last owner on this host ended without giving it back; else empty.
  const std::string& remark() const { return remark_; }

 private:
  bool take(int times);  // false: ask again

  std::string what_, lock_, remark_;
  int file_ = -1;
  long process_ = 0;
};

// Throws std::runtime_error with the sentence of OwnedFolder where another process of this host has
// the folder now. Makes nothing, and needs no folder.
void refuse_in_use(const std::string& folder);

// A folder that nobody else has made: FIRST, or FIRST-2, FIRST-3 ... where there is one.
class NewFolder {
 public:
  // Makes those above it, too. Throws std::runtime_error with a sentence if it cannot.
  explicit NewFolder(const std::string& first);
  ~NewFolder();  // takes away what it made and is empty
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::string& path() const { return path_; }
  // All that were made, the outermost first: from here on somebody else's to take away.
  std::vector<std::string> release();

 private:
  std::string path_;
  std::vector<std::string> made_;
};

// Makes the folder and those above it. All that were made, the outermost first. Throws
// std::runtime_error with a sentence if it cannot.
std::vector<std::string> make_folders(const std::string& folder);
// The innermost first, those that are empty.
void remove_empty(const std::vector<std::string>& folders);

}  // namespace fourfold::inline support
