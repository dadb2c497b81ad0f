// The folder of checkpoints as files: names, what unfinished writes leave, what may go. Nothing
// here is collective.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fourfold::inline engine::inline train::inline checkpoint {

// A data file's name for this step that no checkpoint in the folder uses:
// "step-00000100.safetensors", or with "-2" if one of the same step is there, which must stay whole
// until the new one counts.
std::string free_data_name(const std::string& folder, std::int64_t step);
std::string record_path(const std::string& folder, std::int64_t step);
// One more than the newest's.
std::int64_t next_serial(const std::string& folder);

// Throws std::runtime_error if this process may not write files of this size (ulimit -f).
void expect_allowed(const std::string& path, std::int64_t bytes);
// Makes a draft (support/own_file.hpp) of the file with its space on the disk reserved, so that a
// full one is known before anything is written. Returns its path. Throws std::runtime_error, and
// leaves no file.
std::string reserve_draft(const std::string& path, std::int64_t bytes);

// What makes a checkpoint count: data that are written as a draft get their name, then the record.
// Both have reached the disk when it returns.
struct Commit {
  std::string draft, data;   // of the data
  std::string record, text;  // its path and what it is to say
};
void commit(const Commit& checkpoint);

// What a killed process has left: drafts of ours, and data that none but a draft of a record speaks
// of. What bears no mark of ours is somebody else's and stays.
void remove_unfinished(const std::string& folder);
// What a file there may still grow by, on the folder's disk or on that of the next one above it.
std::int64_t free_bytes(const std::string& folder);
// Removes the oldest checkpoints, but never the newest that is whole, until so many bytes are free,
// and those of a record beside them; none where that would not do. Returns their records' paths.
std::vector<std::string> remove_for_room(const std::string& folder, std::int64_t bytes);
// Checkpoints before the newest `keep`. Damaged records stay, for people to look at.
void remove_older(const std::string& folder, std::int64_t keep);

// Paths of the finished checkpoints (their JSONs), oldest first; none if there is no such folder.
// Not collective: of what this rank sees. A damaged one counts as the newest, unless a whole one is
// of a later step; what is no plain file counts nowhere.
std::vector<std::string> finished_checkpoints(const std::string& folder);

// What has the name of a record and is none.
struct UnreadCheckpoint {
  std::string path;
  std::string why;  // "it is damaged"
};
std::vector<UnreadCheckpoint> left_out_checkpoints(const std::string& folder);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
