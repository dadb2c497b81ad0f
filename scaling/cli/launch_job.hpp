// The size of a job that the words of a launch say: its grid, its batch and its micro-batches.
#pragma once

#include <cstdint>
#include <optional>

#include "schedule/models/launch_words.hpp"
#include "schedule/program/process_grid.hpp"

namespace fourfold::inline scaling::inline cli {

// What is typed beside the words, and wins; 0 where it is not.
struct BesideLaunch {
  std::optional<ProcessGrid> grid;
  std::int64_t devices = 0;
  std::int64_t batch = 0, micro_batch = 0;  // sequences
  bool micro_batches = false;               // their size or number
};

// What the words say of a job's size; 0 where they do not.
struct LaunchJob {
  std::int64_t x = 1, stages = 1, devices = 0;
  std::int64_t shares = 0;                                     // of the batch
  std::int64_t batch = 0, micro_batch = 0, micro_batches = 0;  // sequences, sequences, how many
};

// Throws std::runtime_error with a sentence where the words say no grid that is known here, or
// contradict one another.
LaunchJob launch_job(const LaunchWords& words, const BesideLaunch& typed);

}  // namespace fourfold::inline scaling::inline cli
