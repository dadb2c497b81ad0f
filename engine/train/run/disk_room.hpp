// The room that a run's checkpoints and its log take on the disk, asked for before the first step.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/train/flags/settings.hpp"

namespace fourfold::inline engine::inline train::inline run {

struct DiskNeed {
  std::int64_t checkpoint_bytes = 0;  // of one
  std::int64_t checkpoints = 0;       // at once, beside those that the folder holds already
  std::int64_t log_bytes = 0;

  double bytes_of_checkpoints() const {
    return static_cast<double>(checkpoints) * static_cast<double>(checkpoint_bytes);
  }
};

struct FreeRoom {
  std::int64_t of_folder = 0;
  std::optional<std::int64_t> of_log;  // where it lies on another disk
};

// A run that may go back to its beginning saves that, too, unless it goes on from what is saved.
bool saves_beginning(const TrainSettings& settings);

// Of the steps after so many; a log that is no plain file takes no room. What stays
// (--keep-checkpoints) and the one that is being written are there at once; a run that ends earlier
// writes fewer.
DiskNeed counted_disk(const TrainSettings& settings, std::int64_t steps_before);

FreeRoom free_room(const TrainSettings& settings);

// Throws std::runtime_error with the numbers in a sentence if less than that is free, on the disk
// of the folder or on that of the log.
void refuse_without_disk(const TrainSettings& settings, const DiskNeed& need, const FreeRoom& free);

}  // namespace fourfold::inline engine::inline train::inline run
