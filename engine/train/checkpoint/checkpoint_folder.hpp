// The folder of checkpoints as files: names, what unfinished writes leave, what may go. Nothing
// here is collective.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fourfold {

// A data file's name for this step that no checkpoint in the folder uses:
// "step-00000100.safetensors", or with "-2" if one of the same step is there, which must stay whole
// until the new one counts.
std::string free_data_name(const std::string& folder, std::int64_t step);
std::string record_path(const std::string& folder, std::int64_t step);
// One more than the newest's.
std::int64_t next_serial(const std::string& folder);

// Throws std::runtime_error if this process may not write files of this size (ulimit -f).
void expect_allowed(const std::string& path, std::int64_t bytes);
// Makes a file of this size with its space on the disk reserved, so that a full one is known before
// anything is written. Throws std::runtime_error, and leaves no file.
void reserve(const std::string& path, std::int64_t bytes);
// Renames and waits for the disk, contents first.
void commit(const std::string& temporary, const std::string& path);
// Writes beside, then commits.
void commit_text(const std::string& path, const std::string& text);

// Temporary files, and data files that no record speaks of.
void remove_unfinished(const std::string& folder);
// Checkpoints before the newest `keep`. Damaged records stay, for people to look at.
void remove_older(const std::string& folder, std::int64_t keep);

// Paths of the finished checkpoints (their JSONs), oldest first; none if there is no such folder.
// Not collective: of what this rank sees. A damaged one counts as the newest, unless a whole one is
// of a later step.
std::vector<std::string> finished_checkpoints(const std::string& folder);
// Of these the damaged ones.
std::vector<std::string> damaged_checkpoints(const std::string& folder);

}  // namespace fourfold
