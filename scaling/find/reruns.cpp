// Changed points, simulated in waves of two; see reruns.hpp.
#include "scaling/find/reruns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scaling/jobs/launch.hpp"
#include "sim/explain/ideal.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

constexpr std::size_t processes_at_a_time = 2;

struct Change {
  std::string key, name;
  Point point;
  std::vector<std::string> arguments;
};

// Seeds without anything random would be refused as idle.
WhatIfs tidy(WhatIfs what_ifs) {
  if (!what_ifs.needs_seed()) what_ifs.seed = WhatIfs{}.seed;
  return what_ifs;
}

std::vector<Change> changes_of(const Point& point, const Platform& platform) {
  std::vector<Change> changes;
  const auto without = [&](const std::string& key, const std::string& name, WhatIfs what_ifs) {
    Change change{key, name, point, {}};
    change.point.what_ifs = tidy(std::move(what_ifs));
    if (change.point.what_ifs != point.what_ifs) changes.push_back(std::move(change));
  };
  WhatIfs changed = point.what_ifs;
  changed.slow_devices = {};
  without("without_slow_devices", "no slow devices", changed);
  changed = point.what_ifs;
  changed.jitter_percent = 0.0;
  changed.draws_spreads = false;
  without("without_jitter", "no jitter", changed);
  changed = point.what_ifs;
  changed.degrade.clear();
  changed.fail.clear();
  changed.background.clear();
  without("with_sound_links", "sound links", changed);
  changed = point.what_ifs;
  changed.placement = {};
  // Faults, other jobs and slow devices are named by place: packed, the job may not lie there.
  const bool by_place = !changed.degrade.empty() || !changed.fail.empty() ||
                        !changed.background.empty() || !changed.slow_devices.devices.empty();
  if (!by_place) without("packed", "packed placement", changed);
  for (IdealPart part : all_ideal_parts) {
    if (!takes_effect(part, point, platform)) continue;
    std::string key = name(part);
    std::ranges::replace(key, '-', '_');
    changes.push_back({key, sentence(part), point, {"--ideal", name(part)}});
  }
  return changes;
}

}  // namespace

std::vector<Ideal> rerun(const Record& record, const ProgressWatch& watch) {
  std::vector<Ideal> found;
  if (!record.replay) return found;
  const bool walked_whole = record.point.what_ifs.jitters();
  if (walked_whole && record.replay->cpu_s > longest_rerun_s) return found;
  const std::string executable = beside_this_executable("fourfold-replay");
  const Point& point = record.point;
  const Platform platform = read_platform(point.platform, point.scales, point.software);
  const std::vector<Change> changes = changes_of(point, platform);
  for (std::size_t first = 0; first < changes.size(); first += processes_at_a_time) {
    watch(fmt::format("simulated {} of {} changes", first, changes.size()),
          static_cast<double>(first) / static_cast<double>(changes.size()));
    const std::size_t last = std::min(first + processes_at_a_time, changes.size());
    std::vector<Job> jobs;
    for (std::size_t i = first; i < last; ++i) {
      jobs.push_back({{executable}, to_json(changes[i].point) + '\n', 0});
      jobs.back().command.insert(jobs.back().command.end(), changes[i].arguments.begin(),
                                 changes[i].arguments.end());
    }
    const std::vector<JobResult> results = run_side_by_side(jobs);
    for (std::size_t i = first; i < last; ++i) {
      const Change& change = changes[i];
      found.push_back({change.key, change.name,
                       answer_of(results[i - first], change.point).value().outcome.total,
                       "simulation"});
    }
  }
  return found;
}

}  // namespace fourfold::inline scaling::inline find
