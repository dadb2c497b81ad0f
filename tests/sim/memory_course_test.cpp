// Memory along a timeline: where another section or micro-batch begins, there is that section's;
// what a software always keeps is there at every moment, and many micro-batches are as few.
#include "sim/explain/memory_course.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <tuple>
#include <vector>

#include "tests/drawn_points.hpp"
#include "tests/platforms/platform_files.hpp"
#include "tests/points.hpp"

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

// Sums of a series, moment by moment.
std::vector<double> sums_of(const MemorySeries& series) {
  std::vector<double> sums;
  for (const MemoryAt& moment : series.moments) sums.push_back(moment.parts.sum().value);
  return sums;
}

// A pipeline of two stages, or none, in any order that takes eight micro-batches.
Point drawn_order(std::int64_t stages, PipelineOrder order) {
  return made_up_point("crossbar", {"small", 4, 64, 8, 32, 512}, ProcessGrid(2, 1, 2, 1, stages),
                       32, with(order, 8));
}

TEST(EstimatedMemory, HasWhatASoftwareAlwaysKeepsAtEveryMoment) {
  const auto with = [](const Point& point, const char* workspaces, std::int64_t stage) {
    const auto path = scratch("workspaces.toml");
    std::ofstream(path) << "title = \"mine\"\nlike = \"fused\"\n[memory]\n"
                        << "workspaces_MiB = { value = " << workspaces << ", source = \"me\" }\n";
    return sums_of(
        estimated_memory(point, read_platform(point.platform, {}, path.string()), stage));
  };
  for (const std::int64_t stages : {1, 2}) {
    const Point point = drawn_order(stages, PipelineOrder::one_f_one_b);
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      const std::vector<double> without = with(point, "0", stage), all = with(point, "64", stage);
      ASSERT_EQ(all.size(), without.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_NEAR(all[i] - without[i], 64.0 * (1 << 20), 1.0) << stage << ", moment " << i;
      }
    }
  }
}

// Twice as many micro-batches of the same size only repeat what there is.
TEST(EstimatedMemory, OfManyMicroBatchesIsThatOfFew) {
  for (const std::int64_t stages : {1, 2}) {
    for (const PipelineOrder order :
         {PipelineOrder::gpipe, PipelineOrder::one_f_one_b, PipelineOrder::zero_bubble}) {
      const Point point = drawn_order(stages, order);
      Point twice = point;
      twice.options.micro_batches *= 2;
      twice.global_batch *= 2;
      const Platform platform = read_platform(point.platform);
      for (std::int64_t stage = 0; stage < stages; ++stage) {
        EXPECT_EQ(sums_of(estimated_memory(twice, platform, stage)),
                  sums_of(estimated_memory(point, platform, stage)))
            << name(order) << ", stage " << stage << " of " << stages;
      }
    }
  }
}

TEST(StageCourse, NamesTheLayerAndTheMicroBatchThatItsPeakIsOf) {
  for (const int layer : {-1, 0, 1, 12}) {
    for (const int micro_batch : {-1, 0, 1, 12}) {
      StageCourse course;
      course.sections.resize(2);
      course.sections[1] = {"block", micro_batch, layer};
      course.moments.resize(2);
      course.peak = 1;
      std::string expected = "block";
      if (layer >= 0) expected += ", layer " + std::to_string(layer);
      if (micro_batch >= 0) expected += ", micro-batch " + std::to_string(micro_batch);
      EXPECT_EQ(course.moment(), expected);
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
