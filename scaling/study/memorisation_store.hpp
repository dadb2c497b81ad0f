// The file of a memorisation study's records, which a run that is done again goes on from.
#pragma once

#include <map>
#include <string>

#include "scaling/records/store.hpp"
#include "scaling/study/memorisation_record.hpp"

namespace fourfold::inline scaling::inline study {

// Records of this very study, by key, and a file that takes more. A line that is no record is moved
// to a file beside it, and said.
class MemorisationStore {
 public:
  MemorisationStore(const std::string& path, Opening opening);
  void append(const MemorisationRecord& record);
  const MemorisationRecord* with_key(const std::string& key) const;

 private:
  std::string path_;
  std::map<std::string, MemorisationRecord> records_;
};

}  // namespace fourfold::inline scaling::inline study
