// Named sections and their bytes, and the sections' times; see memory_course.hpp.
#include "sim/explain/memory_course.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/program/options_in_effect.hpp"
#include "sim/cost/lower.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/estimate/memory_of_software.hpp"

namespace fourfold::inline sim::inline explain {
namespace {

// What is there all the time.
void add(MemoryParts& parts, const MemoryUse& always) {
  const auto of = [&](Role role) { return always.by_role[static_cast<std::size_t>(role)]; };
  parts[MemoryPart::communication] += of(Role::gathered);
  parts[MemoryPart::temporaries] += of(Role::activation);
}

std::size_t highest(const std::vector<MemoryMoment>& moments) {
  const auto most = std::ranges::max_element(
      moments, {}, [](const MemoryMoment& one) { return one.high.sum().value; });
  return static_cast<std::size_t>(most - moments.begin());
}

}  // namespace

std::string StageCourse::moment() const {
  const NamedSection& section = sections.at(peak);
  std::string text = section.name;
  if (section.layer >= 0) text += fmt::format(", layer {}", section.layer);
  if (section.micro_batch >= 0) text += fmt::format(", micro-batch {}", section.micro_batch);
  return text;
}

MemoryCourse memory_course(const Point& point, const Platform& platform) {
  const StepOptions options = in_effect(point.options, point.grid);
  const std::int64_t stages = point.grid.extent(Axis::pipe);
  const MemoryOfSoftware software(platform, point, point.grid, options.micro_batches);
  std::vector<MemoryUse> always(static_cast<std::size_t>(stages));
  software.add_to(always);
  MemoryCourse course;
  for (std::int64_t i = 0; i < stages; ++i) {
    NamedStep step = named_step(point.model, options, {i, stages});
    LocalSizes sizes;
    sizes.evaluate(step.folded, point.grid, {micro_batch_tokens(point)});
    StageCourse stage;
    stage.moments = memory_over_step(step.folded, sizes, point.grid, software.rules());
    for (MemoryMoment& moment : stage.moments) {
      add(moment.high, always[static_cast<std::size_t>(i)]);
      add(moment.after, always[static_cast<std::size_t>(i)]);
    }
    stage.sections = std::move(step.sections);
    stage.peak = highest(stage.moments);
    course.stages.push_back(std::move(stage));
  }
  course.fullest = static_cast<std::size_t>(
      std::ranges::max_element(course.stages, {},
                               [](const StageCourse& one) { return one.at_peak().sum().value; }) -
      course.stages.begin());
  return course;
}

std::vector<MemoryAt> memory_over_time(const StageCourse& course, const std::vector<Span>& spans,
                                       std::int32_t first_section) {
  std::vector<const Span*> stream;  // what the device itself does
  for (const Span& span : spans) {
    if (span.kind != SpanKind::collective) stream.push_back(&span);
  }
  std::ranges::stable_sort(stream, {}, [](const Span* span) { return span->start.value; });
  std::vector<MemoryAt> series;
  const Span* before = nullptr;
  for (const Span* span : stream) {
    const bool goes_on = before != nullptr && before->section == span->section &&
                         before->micro_batch == span->micro_batch;
    before = span;
    const auto section = static_cast<std::size_t>(span->section - first_section);
    if (!goes_on) series.push_back({span->start, course.moments.at(section).high});
  }
  return series;
}

MemorySeries estimated_memory(const Point& point, const Platform& platform, std::int64_t stage) {
  constexpr std::int64_t alone = 4;  // see recorded_micro_batches()
  const std::int64_t stages = point.grid.extent(Axis::pipe);
  Point few = point;
  std::int64_t& count = few.options.micro_batches;
  count = std::min(count, stages > 1 ? 2 * stages : alone);
  few.global_batch = point.global_batch / point.options.micro_batches * count;
  const MemoryCourse course = memory_course(few, platform);
  const TimedProgram program = lower(few, platform);
  const ProgramDetail detail(few, platform, program);
  const DeviceLog log = estimated_log(program, stage);
  const StageCourse& of_stage = course.stages.at(static_cast<std::size_t>(stage));
  MemorySeries series{
      memory_over_time(of_stage,
                       timeline(log, detail, LoggedRepetitions::all(program), Repeated::all, stage),
                       detail.first_section(stage)),
      stage, count};
  series.moments.push_back({{log.end}, of_stage.moments.back().after});
  return series;
}

}  // namespace fourfold::inline sim::inline explain
