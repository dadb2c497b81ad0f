// Reads line by line, and appends; see memorisation_store.hpp.
#include "scaling/study/memorisation_store.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "support/own_file.hpp"
#include "support/standard_streams.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline study {

MemorisationStore::MemorisationStore(const std::string& path, Opening opening) : path_(path) {
  if (opening == Opening::fresh) std::filesystem::remove(path);
  std::string kept;
  bool whole = true;
  for (const TextLine& line : read_own_lines(path, "the records in")) {
    whole = whole && line.ended;
    try {
      const MemorisationRecord record = parse_memorisation_record(line.text);
      records_[record.key] = record;
      kept += line.text + "\n";
    } catch (const std::runtime_error&) {
      whole = false;
      append_own_line(path + ".torn", line.text);
      say_line(fmt::format(
          "{0} has a line that is no record; its run is done again, and the line is in {0}.torn",
          path));
    }
  }
  // A line that was cut off would swallow the next record.
  if (!whole) write_own_file(path, kept);
}

void MemorisationStore::append(const MemorisationRecord& record) {
  append_own_line(path_, to_json(record));
  records_[record.key] = record;
}

const MemorisationRecord* MemorisationStore::with_key(const std::string& key) const {
  const auto found = records_.find(key);
  return found == records_.end() ? nullptr : &found->second;
}

}  // namespace fourfold::inline scaling::inline study
