// The memory of a point over its step, stage by stage: what there is when, and where the peak is.
#pragma once

#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "schedule/fold/memory_series.hpp"
#include "schedule/fold/names.hpp"
#include "sim/explain/timeline.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline explain {

struct StageCourse {
  std::vector<NamedSection> sections;
  std::vector<MemoryMoment> moments;  // of the sections
  std::size_t peak = 0;               // the section of most bytes

  const MemoryParts& at_peak() const { return moments[peak].high; }
  std::string moment() const;  // "block backward, layer 11, micro-batch 0"
};

struct MemoryCourse {
  std::vector<StageCourse> stages;
  std::size_t fullest = 0;
};

// Throws std::runtime_error if the grid does not fit the model.
MemoryCourse memory_course(const Point& point, const Platform& platform);

// From then on, until the next.
struct MemoryAt {
  Seconds time;
  MemoryParts parts;
};
// Along a timeline of the stage, whose first section is the one of this number.
std::vector<MemoryAt> memory_over_time(const StageCourse& course, const std::vector<Span>& spans,
                                       std::int32_t first_section);
// The same by the closed form, in which all devices of a stage are alike, of a step of few
// micro-batches: more of them repeat what there is.
struct MemorySeries {
  std::vector<MemoryAt> moments;
  std::int64_t stage = 0, micro_batches = 1;
};
MemorySeries estimated_memory(const Point& point, const Platform& platform, std::int64_t stage);

}  // namespace fourfold::inline sim::inline explain
