// Counts checkpoints and asks the file system; see disk_room.hpp.
#include "engine/train/run/disk_room.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/checkpoint/checkpoint_folder.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

constexpr std::int64_t log_bytes_a_step = 1024;  // some 800 with all channels of a 4D grid
constexpr std::int64_t many = std::numeric_limits<std::int32_t>::max();

// Checkpoints that the run writes, as far as that is known before.
std::int64_t written(const TrainSettings& settings, std::int64_t steps_before) {
  const RunLength& length = settings.length;
  std::int64_t count = saves_beginning(settings) ? 2 : 1;
  if (settings.checkpoint_every > 0) {
    count += length.steps > 0 ? (length.steps - steps_before) / settings.checkpoint_every : many;
  }
  if (settings.checkpoint_minutes > 0.0) {
    const double most = length.minutes > 0.0 ? length.minutes / settings.checkpoint_minutes
                                             : static_cast<double>(many);
    count += static_cast<std::int64_t>(std::min(std::floor(most), static_cast<double>(many)));
  }
  return count;
}

std::string size_text(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.1f} MB", bytes / 1e6)
                     : fmt::format("{:.1f} GB", bytes / 1e9);
}

}  // namespace

bool saves_beginning(const TrainSettings& settings) {
  return settings.bad_steps == BadSteps::rewind && settings.resume.empty();
}

DiskNeed counted_disk(const TrainSettings& settings, std::int64_t steps_before) {
  const std::string folder = settings.folder + "/checkpoints";
  const std::int64_t keep = std::min(settings.keep_checkpoints, many);
  const std::int64_t there = std::min(std::ssize(finished_checkpoints(folder)), keep);
  DiskNeed need;
  need.checkpoint_bytes = checkpoint_bytes(settings.model);
  need.checkpoints = std::min(keep - there + 1, written(settings, steps_before));
  const std::int64_t steps = std::max<std::int64_t>(0, settings.length.steps - steps_before);
  need.log_bytes = log_bytes_a_step * std::min(steps, many);
  return need;
}

void refuse_without_disk(const TrainSettings& settings, const DiskNeed& need, std::int64_t free) {
  if (need.bytes() <= static_cast<double>(free)) return;
  const bool several = need.checkpoints > 1;
  const bool of_log = static_cast<double>(need.log_bytes) > need.bytes_of_checkpoints();
  throw std::runtime_error(fmt::format(
      "this run needs {} on the disk of {}, {} for {} of {}{} and {} for its log, and {} are free; "
      "make room, {}or give a --folder on another disk",
      size_text(need.bytes()), settings.folder, size_text(need.bytes_of_checkpoints()),
      several ? fmt::format("{} checkpoints", need.checkpoints) : "one checkpoint",
      size_text(static_cast<double>(need.checkpoint_bytes)), several ? " at once," : "",
      size_text(static_cast<double>(need.log_bytes)), size_text(static_cast<double>(free)),
      of_log    ? "take fewer steps (--steps), send the log elsewhere (--log), "
      : several ? "keep fewer (--keep-checkpoints), "
                : ""));
}

}  // namespace fourfold::inline engine::inline train::inline run
