// Peaks and outcomes of memory against what was measured; see memory_deviations.hpp.
#include "scaling/validation/memory_deviations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "platforms/device_memory.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline validation {
namespace {

const MemoryUse& use_of_measured_stage(const CaseResult& result) {
  const std::vector<MemoryUse>& stages = result.projection->stage_memory;
  if (result.one.memory->of == PeakOf::first) return stages.front();
  if (result.one.memory->of == PeakOf::last) return stages.back();
  return *std::max_element(stages.begin(), stages.end(),
                           [](const MemoryUse& a, const MemoryUse& b) { return a.peak < b.peak; });
}

Platform platform_of(const CaseResult& result) {
  const Question& question = result.one.question;
  return read_platform(question.platform, question.scales, question.software);
}

bool is_certain(double chance) {
  return chance >= fits_from || chance <= fits_not_below;
}

}  // namespace

Bytes projected_memory(const CaseResult& result) {
  const Bytes allocated = use_of_measured_stage(result).peak;
  if (result.one.memory->is == PeakIs::allocated) return allocated;
  const SoftwareMemory memory = software_memory(platform_of(result));
  return result.one.memory->is == PeakIs::reserved ? reserved_memory(allocated, memory)
                                                   : used_memory(allocated, memory);
}

double memory_deviation(const CaseResult& result) {
  return projected_memory(result) / result.one.memory->peak - 1.0;
}

double chance_to_fit(const CaseResult& result) {
  return chance_to_fit(result.projection->memory, platform_of(result));
}

bool outcome_is_right(const CaseResult& result) {
  return (chance_to_fit(result) >= 0.5) == (result.one.memory->outcome == MemoryOutcome::ran);
}

MemoryStatistics memory_statistics(const SetResult& result, const std::string& study) {
  MemoryStatistics found;
  std::vector<double> deviations;
  std::vector<std::string> ids;
  for (const CaseResult& one : result.cases) {
    if (!one.one.memory || !(study.empty() || study == one.one.study)) continue;
    ++found.rows;
    if (!one.projection) continue;
    ++found.outcomes;
    found.right += outcome_is_right(one) ? 1 : 0;
    found.certain_and_wrong += !outcome_is_right(one) && is_certain(chance_to_fit(one)) ? 1 : 0;
    if (!one.one.memory->has_peak()) continue;
    deviations.push_back(memory_deviation(one));
    ids.push_back(one.one.id);
  }
  found.deviations = deviations_of(deviations);
  if (!ids.empty()) {
    found.worst_id = ids[found.deviations.worst];
    found.worst = deviations[found.deviations.worst];
  }
  return found;
}

std::string memory_worse_than_bound(const SetResult& result) {
  const MemoryStatistics all = memory_statistics(result, "");
  if (static_cast<std::int64_t>(all.deviations.count) < result.set.least_cases) {
    return fmt::format("{}: {} of memory ran, but at least {} must", result.set.name,
                       counted(static_cast<std::int64_t>(all.deviations.count), "peak"),
                       result.set.least_cases);
  }
  if (all.deviations.mean_absolute <= *result.set.memory_bound) return "";
  return fmt::format(
      "{}: peaks of memory deviate by {:.2f} % in the mean, above the bound of {:g} %",
      result.set.name, 100.0 * all.deviations.mean_absolute, 100.0 * *result.set.memory_bound);
}

}  // namespace fourfold::inline scaling::inline validation
