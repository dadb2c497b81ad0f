// Counts checkpoints and asks the file system; see disk_room.hpp.
#include "engine/train/run/disk_room.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>

#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/train/run/train.hpp"

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

std::string disk_text(double bytes) {
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
  std::error_code missing;
  const auto log = std::filesystem::status(log_path(settings), missing);
  if (exists(log) && !is_regular_file(log)) need.log_bytes = 0;
  return need;
}

FreeRoom free_room(const TrainSettings& settings) {
  const std::string log = log_path(settings);
  FreeRoom free{free_bytes(settings.folder), std::nullopt};
  if (!on_one_disk(settings.folder, log)) free.of_log = free_bytes(log);
  return free;
}

void refuse_without_disk(const TrainSettings& settings, const DiskNeed& need,
                         const FreeRoom& free) {
  const auto log_bytes = static_cast<double>(need.log_bytes);
  if (free.of_log && log_bytes > static_cast<double>(*free.of_log)) {
    throw std::runtime_error(fmt::format(
        "this run needs {} for its log on the disk of {}, and {} are free; make room, "
        "take fewer steps (--steps), or give a --log on another disk",
        disk_text(log_bytes), log_path(settings), disk_text(static_cast<double>(*free.of_log))));
  }
  const double here = free.of_log ? 0.0 : log_bytes, bytes = need.bytes_of_checkpoints() + here;
  if (bytes <= static_cast<double>(free.of_folder)) return;
  const bool several = need.checkpoints > 1;
  throw std::runtime_error(fmt::format(
      "this run needs {} on the disk of {}, {} for {} of {}{}{}, and {} are free; make room, {}or "
      "give a --folder on another disk",
      disk_text(bytes), settings.folder, disk_text(need.bytes_of_checkpoints()),
      several ? fmt::format("{} checkpoints", need.checkpoints) : "one checkpoint",
      disk_text(static_cast<double>(need.checkpoint_bytes)), several ? " at once" : "",
      here > 0.0 ? fmt::format("{} and {} for its log", several ? "," : "", disk_text(here)) : "",
      disk_text(static_cast<double>(free.of_folder)),
      here > need.bytes_of_checkpoints()
          ? "take fewer steps (--steps), send the log elsewhere (--log), "
      : several ? "keep fewer (--keep-checkpoints), "
                : ""));
}

}  // namespace fourfold::inline engine::inline train::inline run
