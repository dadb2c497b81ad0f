// Reads /proc and control groups; see memory.hpp.
#include "engine/train/run/memory.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

namespace fourfold::inline engine::inline train::inline run {

namespace {

std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  throw std::runtime_error("/proc/self/status does not say how much memory is used (VmHWM)");
}

}  // namespace

void give_back_free_memory() {
  malloc_trim(0);
}

MemoryGrowth::MemoryGrowth() {
  // "5" sets the peak back to what is resident now (proc(5)), so that a peak during start-up does
  // not hide growth. Where that is not allowed, the older peak counts.
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;
  before_ = peak_bytes();
}

std::int64_t MemoryGrowth::bytes() const {
  return peak_bytes() - before_;
}

namespace {

std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (file >> number) return number;  // "max" is none
  return std::nullopt;
}

// The smallest limit of a group and of those above it; their use is not taken off, as it counts
// the file cache, which gives way.
std::int64_t smallest_limit(const std::string& root, std::string group, const char* limit_file) {
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  while (true) {
    const auto limit = number_in(root + group + "/" + limit_file);
    smallest = std::min(smallest, limit.value_or(smallest));
    if (group.empty()) return smallest;
    group.erase(std::min(group.rfind('/'), group.size()));
  }
}

// Lines "0::/a/group" (version 2) or "4:memory:/a/group" (version 1).
std::int64_t allowed_by_groups() {
  std::int64_t allowed = std::numeric_limits<std::int64_t>::max();
  std::ifstream own("/proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kind = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (kind.empty()) {
      allowed = std::min(allowed, smallest_limit("/sys/fs/cgroup", group, "memory.max"));
    } else if (kind == "memory") {
      allowed = std::min(allowed,
                         smallest_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return allowed;
}

}  // namespace

std::string gigabytes_text(double bytes) {
  constexpr double giga = 1e9;
  return bytes < 1e13 ? fmt::format("{:.1f} GB", bytes / giga)
                      : fmt::format("{:.3g} GB", bytes / giga);
}

std::int64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes)
      return std::min(kibibytes * 1024, allowed_by_groups());
  }
  throw std::runtime_error("/proc/meminfo does not say how much memory is available");
}

void refuse_without_room(Bytes counted_on_a_rank, std::int64_t ranks, std::int64_t available,
                         std::int64_t offload_bucket) {
  const double needed = counted_on_a_rank.value * static_cast<double>(ranks);
  if (needed <= static_cast<double>(available)) return;
  throw std::runtime_error(fmt::format(
      "this run needs {} a rank, {} for the {} on this node, and {} are available; {}cut the batch "
      "into more --micro-batches, recompute (--recompute full), or use more nodes or a smaller "
      "--model",
      gigabytes_text(counted_on_a_rank.value), gigabytes_text(needed),
      ranks == 1 ? "one rank" : fmt::format("{} ranks", ranks),
      gigabytes_text(static_cast<double>(available)),
      offload_bucket > 0 ? fmt::format("make --offload-bucket smaller than {}, ", offload_bucket)
                         : ""));
}

}  // namespace fourfold::inline engine::inline train::inline run
