// Where a run leaves what it writes, and what must not be mixed with it: an earlier run.
#pragma once

#include <string>

#include "engine/train/flags/settings.hpp"

namespace fourfold::inline engine::inline train::inline run {

// results/train/MODEL-TIME, in the working directory: what support/owned_folder.hpp makes anew.
std::string default_folder(const std::string& model);

// Of the run whose newest checkpoint this is, or this folder of them: it goes on there. Empty for
// an older one, whose run has gone on already, and for checkpoints that are in no run's folder.
std::string folder_resumed(const std::string& resume);

// Whether the checkpoint that is resumed, or the folder of them, is this run folder's own.
bool goes_on_in_its_folder(const TrainSettings& settings);

// Throws std::runtime_error with a sentence if the folder is neither there to be written in nor can
// be made. Makes nothing. Not collective.
void refuse_unmakeable(const std::string& folder);

// Throws std::runtime_error with a sentence if the folder, or the log, is another run's that goes
// on now, or holds an earlier run that is not the one to be resumed: its log would tell of two
// runs, its checkpoints would be removed as older ones. Likewise where the folder itself holds
// checkpoints, as an import leaves them: its path would mean those. Not collective.
void refuse_earlier_run(const TrainSettings& settings);

// Throws std::runtime_error with a sentence if --log or --trace cannot be written; one in a folder
// that the run itself is to make can.
void refuse_unwritable_files(const TrainSettings& settings);

// Throws std::runtime_error with a sentence if --log or --trace names what the run itself writes,
// or --trace what is no trace.
void refuse_own_files(const TrainSettings& settings);

// Throws std::runtime_error with a sentence if what is in the folder leads out of it.
void refuse_links(const std::string& folder);

}  // namespace fourfold::inline engine::inline train::inline run
