// Memory along a timeline: where another section or micro-batch begins, there is that section's.
#include "sim/explain/memory_course.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "tests/drawn_steps.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int32_t first_section = 7, sections = 3;

// A device's spans one after the other; a collective, which runs beside them, says nothing.
std::vector<Span> drawn_spans(const Draw& draw) {
  std::vector<Span> spans;
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::string own = std::to_string(i);
    Span span;
    span.kind = draw.of("kind " + own, {SpanKind::kernel, SpanKind::wait, SpanKind::collective});
    span.section =
        first_section + static_cast<std::int32_t>(draw.below("section " + own, sections));
    span.micro_batch = draw.below("micro-batch " + own, 2);
    span.start = {static_cast<double>(i)};
    span.end = {static_cast<double>(i + 1)};
    spans.push_back(span);
  }
  return spans;
}

TEST(MemoryOverTime, ChangesWhereAnotherSectionOrMicroBatchBegins) {
  StageCourse course;
  for (std::int32_t s = 0; s < sections; ++s) {
    MemoryMoment moment;
    moment.high[MemoryPart::saved] = {1.0 + s};
    course.moments.push_back(moment);
  }
  for (std::int64_t number = 0; number < 50; ++number) {
    const std::vector<Span> spans = drawn_spans(Draw(number, 0));
    std::vector<std::tuple<double, double>> expected;
    const Span* before = nullptr;
    for (const Span& span : spans) {
      if (span.kind == SpanKind::collective) continue;
      if (before == nullptr || std::tie(before->section, before->micro_batch) !=
                                   std::tie(span.section, span.micro_batch)) {
        expected.emplace_back(span.start.value, 1.0 + (span.section - first_section));
      }
      before = &span;
    }

    std::vector<std::tuple<double, double>> told;
    for (const MemoryAt& moment : memory_over_time(course, spans, first_section)) {
      told.emplace_back(moment.time.value, moment.parts.sum().value);
    }
    EXPECT_EQ(told, expected) << number;
  }
}

}  // namespace
}  // namespace fourfold::tests
