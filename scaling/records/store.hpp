// The file of records: one a line, written as each point finishes, kept whatever ends the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scaling/records/record.hpp"
#include "support/owned_folder.hpp"

namespace fourfold::inline scaling::inline records {

enum class Opening : std::uint8_t { resume, fresh };

// A line of the file: the record's JSON with a digest of it, by which a hand that changed it is
// noticed, also one that took the digest away.
std::string line_of(const Record& record);

// Throws std::runtime_error with a sentence if the line is no record or was changed.
Record record_of_line(const std::string& line);

// The records of a file that somebody else may be writing: without its lock, and without a last
// line that has no end. Empty if there is no such file.
std::vector<Record> read_records(const std::string& path);

// Owns the file for as long as it lives: a second Store on the same file is refused.
class Store {
 public:
  // Makes the folder if needed and reads what is there; fresh drops it. A last line without its end
  // was torn by a kill: it goes to PATH.torn, and remark() says so. Throws std::runtime_error with
  // file and line if a whole line is no record, and if the file cannot be used.
  Store(const std::string& path, Opening opening);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const std::vector<Record>& records() const { return records_; }
  const std::string& remark() const { return remark_; }
  // The newest record with this key, or nullptr.
  const Record* with_key(const std::string& key) const;

  // Returns when the line has reached the disk. If it cannot, the file is as before and
  // std::runtime_error says so in a sentence.
  void append(const Record& record);

 private:
  void read();
  void add_remark(const std::string& sentence);
  void set_torn_line_aside(const std::string& torn, std::size_t whole_size);

  std::string path_;
  std::optional<OwnedFolder> owned_;
  int file_ = -1;
  std::vector<Record> records_;
  std::string remark_;
};

}  // namespace fourfold::inline scaling::inline records
