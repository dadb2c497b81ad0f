// Files in a folder of our own, whose names nobody typed: whatever somebody has put there, nothing
// is written outside of it. A link in a file's place is never followed. Every function throws
// std::runtime_error with a sentence where it cannot do what it says.
#pragma once

#include <string>
#include <string_view>

namespace fourfold::inline support {

// A new file beside another, which it replaces in one step when it is whole. Its name carries our
// mark and a number that nobody foresees: "table.txt.3f0c9a17b2d4e586.fourfold-draft".
class Draft {
 public:
  explicit Draft(const std::string& path);
  ~Draft();  // takes it away unless it is kept
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const std::string& path() const { return draft_; }
  void write(std::string_view content) const;
  // Gives it its name. A link there is replaced, not followed.
  void keep();

 private:
  std::string path_, draft_;
  int file_ = -1;
};

// An empty one that stays, for whoever writes it by its path. Returns that.
std::string make_draft(const std::string& path);

// Whether a name is that of a draft, say of one whose process was killed.
bool is_draft(std::string_view name);
// "table.txt" of the draft above.
std::string meant_by_draft(std::string_view name);

// Replaces the file in one step, or leaves the old one.
void write_own_file(const std::string& path, std::string_view content);

// Opened as ::open does, for its owner and with 0644 if it is new; a link, and what is no plain
// file, is refused. Returns a descriptor that the caller closes.
int open_own_file(const std::string& path, int flags);

// With a line end, at once, in one write.
void append_own_line(const std::string& path, std::string_view line);

}  // namespace fourfold::inline support
