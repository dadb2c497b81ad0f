// The drawing of memory: as high in each column as the most there is within it. The table of it:
// the fullest stage among those that are shown, however many there are.
#include "scaling/text/memory_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "platforms/platform.hpp"
#include "tests/drawn_steps.hpp"

namespace fourfold::tests {
namespace {

constexpr std::size_t width = 72, height = 12;

// Moments at drawn times, each with so many bytes of one part.
MemorySeries drawn_series(std::int64_t number) {
  const Draw draw(number, 0);
  const std::int64_t moments = 2 + draw.below("moments", 60);
  MemorySeries series;
  double time = 0.0;
  for (std::int64_t i = 0; i < moments; ++i) {
    const std::string own = std::to_string(i);
    MemoryParts parts;
    parts.bytes[static_cast<std::size_t>(draw.below("part " + own, memory_part_count))] = {
        1e9 * static_cast<double>(1 + draw.below("bytes " + own, 40))};
    series.moments.push_back({{time}, parts});
    time += static_cast<double>(1 + draw.below("time " + own, 9));
  }
  return series;
}

// Of each column, how many rows of it are filled.
std::vector<std::size_t> drawn_heights(const std::string& drawing) {
  std::vector<std::size_t> heights(width, 0);
  std::istringstream lines(drawing);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t bar = line.find('|');
    for (std::size_t c = 0; bar != std::string::npos && bar + 1 + c < line.size(); ++c) {
      if (line[bar + 1 + c] != ' ') ++heights[c];
    }
  }
  return heights;
}

TEST(MemoryDrawing, IsAsHighInEachColumnAsTheMostWithinIt) {
  for (std::int64_t number = 0; number < 100; ++number) {
    const MemorySeries series = drawn_series(number);
    const std::vector<MemoryAt>& moments = series.moments;
    const double end = moments.back().time.value, column = end / static_cast<double>(width);
    double most = 0.0;
    for (std::size_t i = 0; i + 1 < moments.size(); ++i) {
      most = std::max(most, moments[i].parts.sum().value);
    }
    const std::vector<std::size_t> heights = drawn_heights(memory_drawing(series));
    for (std::size_t c = 0; c < width; ++c) {
      const double from = column * static_cast<double>(c), to = from + column;
      double here = 0.0;
      for (std::size_t i = 0; i + 1 < moments.size(); ++i) {
        // Not those that only touch it.
        if (moments[i + 1].time.value <= from + 1e-9 || moments[i].time.value >= to - 1e-9)
          continue;
        here = std::max(here, moments[i].parts.sum().value);
      }
      const double rows = here / most * static_cast<double>(height);
      EXPECT_GE(static_cast<double>(heights[c]), rows - 0.5001) << number << ", column " << c;
    }
    EXPECT_EQ(*std::ranges::max_element(heights), height) << number;
  }
}

TEST(MemoryTable, ShowsTheFullestOfAnyNumberOfStages) {
  const Platform platform = read_platform("crossbar");
  for (const std::size_t count : {2, 8, 9, 20}) {
    for (std::size_t fullest = 0; fullest < count; ++fullest) {
      MemoryCourse course;
      course.fullest = fullest;
      course.stages.resize(count);
      for (StageCourse& stage : course.stages) {
        stage.sections.resize(1);
        stage.moments.resize(1);
      }

      const std::string text = memory_text(course, platform);

      EXPECT_NE(text.find("> " + std::to_string(fullest) + " "), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
