// The folder of checkpoints as files: names, what unfinished writes leave, what may go. Nothing
// here is collective.
#pragma once

#include <cstdint>
#include <stdexcept>
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

// A checkpoint that does not count yet: drafts (support/own_file.hpp) of its data and of the record
// that speaks of them, each with its space on the disk.
struct CheckpointFiles {
  std::string data, record;  // their paths
  std::int64_t data_bytes = 0, record_bytes = 0;
};
struct CheckpointDrafts {
  std::string data, record;  // their paths
};
class NoRoom : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
// So that a full disk is known before anything is written. Throws NoRoom, and leaves no file. A
// record of that name is copied to a draft, by which its data stay known as it is replaced.
CheckpointDrafts reserve(const CheckpointFiles& checkpoint);
// Makes it count: the data get their name, then the record, which says a text as long as was
// reserved. Both have reached the disk when it returns.
void commit(const CheckpointFiles& checkpoint, const CheckpointDrafts& drafts,
            const std::string& text);

// What a killed process has left: drafts of ours, and data that none but a draft of a record speaks
// of. What bears no mark of ours is somebody else's and stays.
void remove_unfinished(const std::string& folder);
// The path, or what is nearest above it of what is there.
std::string there_or_above(const std::string& path);
// Whether both lie on one disk, or would.
bool on_one_disk(const std::string& one, const std::string& other);
// What a file there may still grow by, on the path's disk.
std::int64_t free_bytes(const std::string& path);
// Removes the oldest checkpoints, but never the newest that is whole, until another one fits; none
// where that would not do. Returns their records' paths.
std::vector<std::string> remove_for_room(const std::string& folder,
                                         const CheckpointFiles& checkpoint);
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
